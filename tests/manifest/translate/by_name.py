"""States and plans with names in place of positions, so that those on other axes can be compared.

A state that has lived longer may measure resources that nothing has any more. Amounts of 0 and
limits that limit nothing are left out, so what nothing uses makes no difference.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from fairlead.model.axes import Axis
from fairlead.model.plan import Plan, Reason, SideNumbers
from fairlead.model.queue import Queue
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodSet, Workload

Named = dict[Any, Any]


def state_by_name(state: ClusterState, used: frozenset[Axis]) -> dict[str, Named]:
    """Return all that a state knows but memories, on the quota axes *used* only."""
    names = _Names(state, used)
    return {
        "capacity": names.amounts(state.capacity),
        "queues": {name: names.queue(each) for name, each in state.queues.items()},
        "sums": {
            name: (
                *(names.on_axes(each) for each in (sums.allocated, sums.non_preemptible)),
                names.on_axes(sums.leaving),
                names.amounts(sums.pending),
            )
            for name, sums in state.sums.items()
        },
        "nodes": {
            name: _replaced(node, allocatable=names.amounts(node.allocatable))
            for name, node in state.nodes.items()
        },
        "foreign pods": {
            pod: _replaced(each, requests=names.amounts(each.requests))
            for pod, each in state.books.foreign.items()
        },
        "workloads": {name: names.workload(each) for name, each in state.workloads.items()},
        "runs": {name: names.run(each) for name, each in state.runs.items()},
        "catalogue": msgspec.structs.asdict(state.catalogue),
        "usage": {name: names.on_axes(each) for name, each in state.usage.items()},
    }


def plan_by_name(plan: Plan, used: frozenset[Axis]) -> list[Any]:
    """Return the decisions of a plan in their order, and what it leaves to be remembered."""
    return [*(_named(each, used) for each in plan.decisions), *plan.memories, plan.is_cut]


class _Names:
    """What the positions in the vectors of one state stand for."""

    def __init__(self, state: ClusterState, used: frozenset[Axis]) -> None:
        self._resources = state.resources
        self._axes = state.axes.axes
        self._used = used

    def amounts(self, vector: Sequence[int]) -> Named:
        """Return amounts by resource."""
        return _nonzero(self._resources, vector)

    def on_axes(self, vector: Sequence[int]) -> Named:
        """Return amounts on the axes that are used: pods are charged on others to no effect."""
        found = _nonzero(self._axes, vector)
        return {axis: amount for axis, amount in found.items() if axis in self._used}

    def limits(self, vector: Sequence[int | Decimal | None]) -> Named:
        """Return weights or limits on the axes that are used."""
        pairs = zip(self._axes, vector, strict=True)
        return {axis: each for axis, each in pairs if axis in self._used}

    def queue(self, queue: Queue) -> Named:
        """Return a queue, of which no guarantee is lost that is on an axis that is not used."""
        return _replaced(
            queue,
            weights=self.limits(queue.weights),
            guaranteed=_nonzero(self._axes, queue.guaranteed),
            ceiling=self.limits(queue.ceiling),
            borrow_limit=self.limits(queue.borrow_limit),
            lend_limit=self.limits(queue.lend_limit),
        )

    def workload(self, workload: Workload) -> Named:
        """Return what is wanted."""
        extension: Any = workload.extension
        if isinstance(extension, ElasticPods) and extension.min_resources is not None:
            least = self.amounts(extension.min_resources)
            extension = _replaced(extension, min_resources=least)
        sets = [self._pod_set(each) for each in workload.pod_sets]
        return _replaced(workload, pod_sets=sets, extension=extension)

    def run(self, run: Run) -> Named:
        """Return where pods are and what they cost; not in which order they got there."""
        return {
            "pods": run.pods,
            "flavors": run.flavors,
            "charges": [self.on_axes(each) for each in run.charges],
            "own charges": {pod: self.on_axes(each) for pod, each in run.own_charges.items()},
            "reserved": set(run.reserved),
        }

    def _pod_set(self, pod_set: PodSet) -> Named:
        return _replaced(pod_set, requests=self.amounts(pod_set.requests))


def _named(value: Any, used: frozenset[Axis]) -> Any:
    """Return a decision or a reason with the numbers of queues by axis."""
    if isinstance(value, SideNumbers):
        return _side(value, used)
    if isinstance(value, Reason):
        return _replaced(value, sides=[_side(each, used) for each in value.sides])
    if isinstance(value, tuple):
        return [_named(each, used) for each in value]
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return type(value).__name__, {key: _named(each, used) for key, each in fields.items()}
    return value


def _side(side: SideNumbers, used: frozenset[Axis]) -> Named:
    fields = msgspec.structs.asdict(side)
    named: Named = {"queue": fields.pop("queue")}
    axes = fields.pop("axes")
    for key, vector in fields.items():
        pairs = zip(axes, vector, strict=True)
        named[key] = {axis: each for axis, each in pairs if axis in used}
    return named


def _replaced(value: msgspec.Struct, **fields: Any) -> Named:
    return {**msgspec.structs.asdict(value), **fields}


def _nonzero(names: Sequence[Any], vector: Sequence[Any]) -> Named:
    return {name: each for name, each in zip(names, vector, strict=True) if each != 0}


def differences(old: Mapping[str, Named], new: Mapping[str, Named]) -> list[str]:
    """Return a line for each thing that two states know otherwise."""
    found = []
    for part, known in old.items():
        for name in sorted({*known, *new[part]}, key=str):
            one, other = known.get(name), new[part].get(name)
            if one != other:
                found += [f"{part} {name}:", *_unequal(one, other)]
    return found


def _unequal(one: Any, other: Any) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return [f"    {key}: {one.get(key)} but {other.get(key)} from scratch" for key in keys]
    return [f"    {one} but {other} from scratch"]
