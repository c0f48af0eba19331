"""Which pending workloads may get anything if attempted now; the others can be skipped.

Most pending workloads are over their min, and no pod of their namespace has a lower priority: they
may not preempt. If the pool is exhausted or the nodes lack room even after all terminating pods are
gone, they go on waiting and need no attempt. Pool and nodes are the same for all workloads of equal
demands, so these are checked once for all of them. Without this the simulated month takes more than
three times as long, and still more than that without the counts of fitting pods.

Workloads that may preempt are always attempted: those with a pod of lower priority in their
namespace, and those within their min.

Nominated pods are ignored here. They can only take room away, so no workload is skipped that an
attempt would help.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPods
from fairlead.policy.elastic_quota.quota.pending_pod import (
    PendingPod,
    Readiness,
    pending_pod_of,
    scheduling_order,
    whole_gang,
)
from fairlead.policy.elastic_quota.quota.usage import Charges, QuotaUsage

SIZES_KEPT: Final = 256


class _Count:
    """How many pods of one size fit, per node and in all, as of one moment of the change log."""

    def __init__(self, requests: Amounts) -> None:
        self.needed = [(at, need) for at, need in enumerate(requests) if need > 0]
        self.on_node: dict[str, int] = {}
        self.total = 0
        self.read_at = 0


class FittingPods:
    """Counts how many pods of a size fit on the nodes of one state, through all its changes.

    Only capacity after termination is counted, so that the count is an upper bound: constraints and
    nominated pods can make it less and never more.
    """

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*."""
        self._state = state
        self._counts: dict[Amounts, _Count] = {}

    def may_fit(self, requests: Amounts, pods: int) -> bool:
        """Return whether so many pods with *requests* each may fit.

        Law: False means that they do not fit, whatever is nominated and whatever their constraints
        are. Cost: the nodes that changed since the last such question.
        """
        count = self._counts.get(requests)
        if count is None:
            if len(self._counts) >= SIZES_KEPT:
                self._counts.clear()
            count = self._counts[requests] = _Count(requests)
        changes = self._state.books.changes
        if count.read_at != changes.moment:
            for name in changes.since(count.read_at):
                self._read(count, name)
            count.read_at = changes.moment
        return not count.needed or count.total >= pods

    def _read(self, count: _Count, name: str) -> None:
        before = count.on_node.pop(name, 0)
        now = self._pods_on(count, name)
        if now:
            count.on_node[name] = now
        count.total += now - before

    def _pods_on(self, count: _Count, name: str) -> int:
        node = self._state.nodes.get(name)
        if node is None or not count.needed:
            return 0
        use, occupied = self._state.books.use(name), self._state.books.occupied(name)
        sizes, held, leaving = node.allocatable, use.held, use.leaving
        taken, released = occupied.held, occupied.leaving
        found = None
        for at, need in count.needed:
            free = sizes[at] - taken[at] - held[at] + leaving[at] + released[at]
            fitting = free // need
            if found is None or fitting < found:
                found = fitting
        return found if found is not None and found > 0 else 0


class Demand(NamedTuple):
    """What some pods of a workload need together."""

    charge: tuple[tuple[int, int], ...]  # to their quota, by axis, without zeros
    pods: tuple[tuple[Amounts, int], ...]  # requests of a pod, and how many such pods


class GroupKey(NamedTuple):
    """Everything that decides whether a workload is feasible.

    An attempt changes nothing if none of the demands can be met.
    """

    queue: QueueName | None
    priority: int
    never_preempts: bool
    demands: tuple[Demand, ...]


def group_key(
    state: ClusterState, charges: Charges, workload: Workload, ready: Readiness
) -> GroupKey:
    """Return the key of *workload*, which is pending and has no nomination."""
    own = workload.extension
    return GroupKey(
        queue=workload.queue if workload.queue in state.queues else None,
        priority=workload.priority,
        never_preempts=isinstance(own, ElasticPods) and own.preemption_policy == "Never",
        demands=_demands_of(state, charges, workload, ready),
    )


def _demands_of(
    state: ClusterState, charges: Charges, workload: Workload, ready: Readiness
) -> tuple[Demand, ...]:
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


class PendingGroup:
    """Pending workloads of one key, in scheduling order."""

    def __init__(self, key: GroupKey) -> None:
        """Start without workloads."""
        self.key: Final = key
        self.orders: Final[list[SchedulingOrder]] = []
        self.may_preempt = True


class Feasibility:
    """The pending workloads of one state in groups, and which groups may get something."""

    def __init__(self, quotas: QuotaUsage, running_pods: RunningPods, room: FittingPods) -> None:
        """Start without workloads."""
        self.nominated: Final[list[SchedulingOrder]] = []  # nominated by an earlier plan
        self._quotas: Final = quotas
        self._running: Final = running_pods
        self._room: Final = room
        self._by_demands: Final[dict[tuple[Demand, ...], dict[GroupKey, PendingGroup]]] = {}
        self._in_queue: Final[dict[QueueName | None, dict[GroupKey, PendingGroup]]] = {}
        self._seen: Final[dict[WorkloadName, tuple[SchedulingOrder, PendingGroup | None]]] = {}
        self._nodes_at = -1

    def add(self, workload: Workload, key: GroupKey | None) -> None:
        """Add a pending workload whose queue has just been refreshed; without a key: nominated."""
        order = scheduling_order(workload)
        group = None
        if key is not None:
            alike = self._by_demands.setdefault(key.demands, {})
            group = alike.get(key)
            if group is None:
                group = alike[key] = PendingGroup(key)
                self._in_queue.setdefault(key.queue, {})[key] = group
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
            key = group.key
            del self._in_queue[key.queue][key]
            del self._by_demands[key.demands][key]
            if not self._by_demands[key.demands]:
                del self._by_demands[key.demands]

    def feasible_groups(self) -> list[PendingGroup]:
        """Return the groups of which some workload may get something.

        Cost: the groups, and one check for all of equal demands (1.2 times the month otherwise).
        """
        self._classify_changed()
        found: list[PendingGroup] = []
        for demands, groups in self._by_demands.items():
            may_fit = any(map(self._may_fit, demands))
            found += [each for each in groups.values() if may_fit or each.may_preempt]
        return found

    def _classify_changed(self) -> None:
        """Find out again which groups may preempt, of quotas whose usage changed.

        Classifying all groups at each change takes the simulated month 1.6 times as long.
        """
        changed = self._quotas.after_termination.changed
        queues: list[QueueName | None] = [*changed, None]
        changed.clear()
        if self._nodes_at != self._running.nodes_version():
            self._nodes_at = self._running.nodes_version()
            queues = [*self._quotas.guaranteed, None]  # pods may be on nodes that were added
        for queue in queues:
            for group in self._in_queue.get(queue, {}).values():
                group.may_preempt = self._may_preempt(group.key)

    def _may_fit(self, demand: Demand) -> bool:
        """Return whether the pool and the nodes may have room for all pods of a demand together."""
        pool = self._quotas.after_termination.pool
        return not _exceeds(pool, demand, self._quotas.pool) and all(
            self._room.may_fit(requests, pods) for requests, pods in demand.pods
        )

    def _may_preempt(self, key: GroupKey) -> bool:
        """Return whether there may be a candidate: of lower priority, or a borrower."""
        if key.never_preempts:
            return False
        lowest = self._running.lowest_priority(key.queue)
        if lowest is not None and lowest < key.priority:
            return True
        if key.queue is None:
            return False
        least = self._quotas.guaranteed[key.queue]
        used = self._quotas.after_termination.used[key.queue]
        return not all(_exceeds(used, demand, least) for demand in key.demands)


def _exceeds(used: Sequence[int], demand: Demand, bounds: Amounts) -> bool:
    """Return whether usage and demand exceed a bound."""
    return any(used[axis] + amount > bounds[axis] for axis, amount in demand.charge)
