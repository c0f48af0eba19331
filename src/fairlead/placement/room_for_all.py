"""Whether all pending pods find room, in whichever order and on whichever nodes they are placed.

If so, no pending pod can fail for lack of room, and no pod has to be evicted. Places are counted by
the largest pod that may come to a node, so the answer may be no where it could be yes if sizes
differ much, but never the other way round.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import le
from typing import NamedTuple

from fairlead.model.accounting.node_books import NodeBooks
from fairlead.model.axes import Amounts
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect
from fairlead.placement.waiting_pods import Shape


class _Sort(NamedTuple):
    """Nodes that have the same room and accept the same pods."""

    idle: Amounts
    takes: tuple[bool, ...]  # by index of the constraints


def is_room_for_all(
    books: NodeBooks, idle: Mapping[str, Amounts], waiting: Mapping[Shape, int]
) -> bool:
    """Return whether it is certain that all *waiting* pods fit on the nodes, in any order.

    *idle* is what is free now on each ready node. Law: if so, then however some of them are placed,
    there is room for each of the others. For each shape there are at least as many places as pods
    that may come to the nodes with those places, each counted by the largest pod that may come to
    its node: a pod takes at most one such place. Cost: each node for each different constraint, and
    each different room for each shape.
    """
    foreign = [pod for node in books.nodes_asked_about() for pod in books.asked_about(node)]
    if any(pod.pod_anti_affinity for pod in foreign):
        return False
    if not all(map(_asks_for_room_alone, waiting)):
        return False
    wheres = list(dict.fromkeys([shape.constraints for shape in waiting]))
    sorts: Counter[_Sort] = Counter()
    for node in books.nodes.values():
        if node.name in idle:
            takes = tuple([node_defect(node, where) is None for where in wheres])
            sorts[_Sort(idle[node.name], takes)] += 1
    number = {where: at for at, where in enumerate(wheres)}
    return _are_places_enough(waiting, number, sorts)


def _are_places_enough(
    waiting: Mapping[Shape, int],
    number: Mapping[PodConstraints, int],
    sorts: Mapping[_Sort, int],
) -> bool:
    places: Counter[Shape] = Counter()
    rivals: dict[Shape, set[Shape]] = {shape: set() for shape in waiting}
    for sort, count in sorts.items():
        fitting = [
            shape
            for shape in waiting
            if sort.takes[number[shape.constraints]] and all(map(le, shape.requests, sort.idle))
        ]
        here = count * _places(sort.idle, fitting, enough=sum(waiting.values()))
        for shape in fitting:
            places[shape] += here
            rivals[shape].update(fitting)
    return all(
        places[shape] >= sum([waiting[other] for other in rivals[shape]]) and rivals[shape]
        for shape in waiting
    )


def _places(idle: Amounts, fitting: Sequence[Shape], enough: int) -> int:
    """Return how many pods as large as the largest fit on a node, or *enough*."""
    if not fitting:
        return 0
    largest = [max(amounts) for amounts in zip(*[s.requests for s in fitting], strict=True)]
    pairs = zip(idle, largest, strict=True)
    return min([there // most for there, most in pairs if most], default=enough)


def _asks_for_room_alone(shape: Shape) -> bool:
    """Return whether room and the node alone decide for such pods, not other pods or ports."""
    where = shape.constraints
    pods_around = where.pod_affinity or where.pod_anti_affinity
    return not (shape.gpu_share or where.host_ports or pods_around or where.unsupported)
