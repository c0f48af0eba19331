"""Pending workloads grouped by demand and shape, each group in scheduling order."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Hashable
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.accounting.pod_sums import count_by_set
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.quota.pending_pod import (
    PendingPod,
    Readiness,
    pending_pod_of,
    scheduling_order,
    whole_gang,
)
from fairlead.policy.elastic_quota.quota.usage import Charges


class Demand(NamedTuple):
    """What some pods of a workload need together."""

    charge: tuple[tuple[int, int], ...]  # to their quota, by axis, without zeros
    pods: tuple[tuple[Amounts, int], ...]  # requests of a pod, and how many such pods


Demands: TypeAlias = tuple[Demand, ...]
"""An attempt changes nothing if none of these can be met."""


def demands_of(
    state: ClusterState, charges: Charges, workload: Workload, ready: Readiness
) -> Demands:
    """Return the demands of *workload*: of all pods that it needs together, or of any pod alone.

    A gang that does not get what it needs gets nothing else either.
    """
    pending_pods = [pending_pod_of(state, charges, workload, pod) for pod in ready.pods]
    if ready.needed > 0:
        needed = pending_pods[: ready.needed]
        return (_demand(needed, whole_gang(state, charges, needed)),)
    alone = {each.set_index: each for each in pending_pods}
    return tuple([_demand([each], each) for each in alone.values()])


def _demand(pending_pods: list[PendingPod], whole: PendingPod) -> Demand:
    charge = () if whole.queue is None else whole.charge
    sizes = [each.requests for each in pending_pods]
    return Demand(
        charge=tuple([(axis, amount) for axis, amount in enumerate(charge) if amount > 0]),
        pods=((sizes[0], 1),) if len(sizes) == 1 else tuple(Counter(sizes).items()),
    )


SchedulingOrder: TypeAlias = tuple[int, int, str]  # ends with the workload's name


class WorkloadShape(NamedTuple):
    """Everything that decides the result of an attempt, except for its place in the order."""

    queue: QueueName | None
    namespace: str
    priority: int
    never_preempts: bool
    needs_others: bool  # some pod has affinity to other pods
    demands: Demands
    details: Hashable


class ShapeGroup:
    """Pending workloads of one shape."""

    def __init__(self, shape: WorkloadShape) -> None:
        """Start without workloads."""
        self.shape: Final = shape
        self.orders: Final[list[SchedulingOrder]] = []

    def after(self, order: SchedulingOrder | None) -> SchedulingOrder | None:
        """Return the next workload after *order*; None: the first one."""
        at = 0 if order is None else bisect_right(self.orders, order)
        return self.orders[at] if at < len(self.orders) else None


class DemandGroup:
    """Groups of equal demands, of any queue."""

    def __init__(self, demands: Demands) -> None:
        """Start without groups."""
        self.demands: Final = demands
        self.groups: Final[dict[WorkloadShape, ShapeGroup]] = {}
        self.may_preempt: Final[dict[ShapeGroup, None]] = {}  # groups that may preempt


class PendingGroups:
    """All pending workloads of one state that are to be attempted."""

    def __init__(self) -> None:
        """Start without workloads."""
        self.by_demands: Final[dict[Demands, DemandGroup]] = {}
        self.by_queue: Final[dict[QueueName | None, dict[WorkloadShape, ShapeGroup]]] = {}
        self.nominated: Final[list[SchedulingOrder]] = []  # nominated by an earlier plan
        self.unclassified: Final[dict[ShapeGroup, None]] = {}  # new groups
        self._seen: dict[WorkloadName, tuple[SchedulingOrder, ShapeGroup | None]] = {}

    def add(self, workload: Workload, shape: WorkloadShape | None) -> None:
        """Add a pending workload; without a shape it is nominated, and like no other."""
        order = scheduling_order(workload)
        group = None if shape is None else self._group_of(shape)
        insort(self.nominated if group is None else group.orders, order)
        self._seen[workload.name] = (order, group)

    def remove(self, name: WorkloadName) -> None:
        """Remove a workload, if it is there."""
        seen = self._seen.pop(name, None)
        if seen is None:
            return
        order, group = seen
        orders = self.nominated if group is None else group.orders
        del orders[bisect_left(orders, order)]
        if group is not None and not orders:
            self._forget(group)

    def _group_of(self, shape: WorkloadShape) -> ShapeGroup:
        demand_group = self.by_demands.get(shape.demands)
        if demand_group is None:
            demand_group = self.by_demands[shape.demands] = DemandGroup(shape.demands)
        group = demand_group.groups.get(shape)
        if group is None:
            group = demand_group.groups[shape] = ShapeGroup(shape)
            self.by_queue.setdefault(shape.queue, {})[shape] = group
            self.unclassified[group] = None
        return group

    def _forget(self, group: ShapeGroup) -> None:
        shape = group.shape
        demand_group = self.by_demands[shape.demands]
        del demand_group.groups[shape]
        del self.by_queue[shape.queue][shape]
        demand_group.may_preempt.pop(group, None)
        self.unclassified.pop(group, None)
        if not demand_group.groups:
            del self.by_demands[shape.demands]


def shape_of(
    workload: Workload, queue: QueueName | None, ready: Readiness, demands: Demands
) -> WorkloadShape:
    """Return the shape of *workload*, which has no nomination."""
    own = workload.extension
    details: Hashable = None
    never_preempts = False
    if isinstance(own, ElasticPods):
        never_preempts = own.preemption_policy == "Never"
        details = (own.min_resources, own.schedule_timeout_s)
    counts = count_by_set(workload, ready.pods)
    sets = [
        (count, each.requests, each.constraints)
        for count, each in zip(counts, workload.pod_sets, strict=True)
    ]
    return WorkloadShape(
        queue=queue,
        namespace=workload.namespace,
        priority=workload.priority,
        never_preempts=never_preempts,
        needs_others=any(each.constraints.pod_affinity for each in workload.pod_sets),
        demands=demands,
        details=(details, ready.needed, tuple(sets)),
    )
