"""A sufficient test that all pending pods find room, in any order and on any nodes.

If it holds, no pending pod can fail for lack of room, and no pod has to be evicted. Places are
counted by the largest pod that may come to a node. So where sizes differ much, the test may fail
although there is room for all; it never holds where there is not.
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


class _NodeClass(NamedTuple):
    """Nodes that have the same room and accept the same pods."""

    idle: Amounts
    accepts: tuple[bool, ...]  # by index of the constraints


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
    if not all(map(_depends_on_room_and_node_only, waiting)):
        return False
    constraints = list(dict.fromkeys([shape.constraints for shape in waiting]))
    node_classes: Counter[_NodeClass] = Counter()
    for node in books.nodes.values():
        if node.name in idle:
            accepts = tuple([node_defect(node, each) is None for each in constraints])
            node_classes[_NodeClass(idle[node.name], accepts)] += 1
    index_of = {each: at for at, each in enumerate(constraints)}
    return _are_places_enough(waiting, index_of, node_classes)


def _are_places_enough(
    waiting: Mapping[Shape, int],
    index_of: Mapping[PodConstraints, int],
    node_classes: Mapping[_NodeClass, int],
) -> bool:
    places: Counter[Shape] = Counter()
    competing: dict[Shape, set[Shape]] = {shape: set() for shape in waiting}
    for node_class, count in node_classes.items():
        fitting = [
            shape
            for shape in waiting
            if node_class.accepts[index_of[shape.constraints]]
            and all(map(le, shape.requests, node_class.idle))
        ]
        here = count * _places(node_class.idle, fitting, enough=sum(waiting.values()))
        for shape in fitting:
            places[shape] += here
            competing[shape].update(fitting)
    return all(
        places[shape] >= sum([waiting[other] for other in competing[shape]]) and competing[shape]
        for shape in waiting
    )


def _places(idle: Amounts, fitting: Sequence[Shape], enough: int) -> int:
    """Return how many pods as large as the largest fit on a node, or *enough*."""
    if not fitting:
        return 0
    largest = [max(amounts) for amounts in zip(*[s.requests for s in fitting], strict=True)]
    pairs = zip(idle, largest, strict=True)
    return min([there // most for there, most in pairs if most], default=enough)


def _depends_on_room_and_node_only(shape: Shape) -> bool:
    """Return whether room and the node alone decide for such pods, not other pods or ports."""
    where = shape.constraints
    pods_around = where.pod_affinity or where.pod_anti_affinity or where.spread
    volumes = where.volumes
    barred = where.unsupported or (volumes and (volumes.obstacle or volumes.meets_pods))
    return not (shape.gpu_share or where.host_ports or pods_around or barred)
