"""Which pending workloads may get anything if attempted now; the others can be skipped.

Most pending workloads are over their min, and no pod of their namespace has a lower priority: they
may not preempt. If the pool is exhausted or the nodes lack room even after all terminating pods are
gone, they go on waiting and need no attempt. Pool and nodes are the same for all workloads of equal
demands, so these are checked once for all of them.

For workloads that may preempt, it is checked whether the evictable pods hold enough at all: pods of
lower priority in the same namespace, and for a workload within its min the pods of all borrowers.

Nominated pods are ignored here. They can only take room away, so no workload is skipped that an
attempt would help.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.incremental.pending_groups import (
    Demand,
    DemandGroup,
    PendingGroups,
    ShapeGroup,
    WorkloadShape,
)
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod, RunningPods
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage


class Evictable(NamedTuple):
    """The sums of what evictable pods hold."""

    charge: list[int]  # of their quotas
    on_node: dict[str, list[int]]


class EvictableIndex:
    """Sums over evictable pods of one state, cached until they change."""

    def __init__(self, quotas: QuotaUsage, running_pods: RunningPods) -> None:
        """Start with an empty cache."""
        self._quotas: Final = quotas
        self._running: Final = running_pods
        self._in_queue: dict[QueueName | None, dict[int, Evictable]] = {}
        self._of_borrowers: Evictable | None = None

    def forget(self, queue: QueueName | None) -> None:
        """Forget the sums of *queue*, because its pods changed; None: of pods without a quota."""
        self._in_queue.pop(queue, None)
        if queue is not None:
            self._of_borrowers = None

    def of_lower_priority(self, queue: QueueName | None, priority: int) -> Evictable:
        """Return what pods of *queue* with a priority below *priority* hold.

        Cost: the nodes with pods of the queue, once until it is forgotten.
        """
        known = self._in_queue.setdefault(queue, {})
        found = known.get(priority)
        if found is None:
            found = known[priority] = self._sum(
                self._running.nodes_of(queue),
                lambda each: each.queue == queue and each.priority < priority,
            )
        return found

    def of_borrowers(self) -> Evictable:
        """Return what pods of all quotas hold that are over their min on any axis.

        Cost: all running pods, once until any pod changed.
        """
        if self._of_borrowers is None:
            is_over = self._quotas.after_termination.is_over_min
            nodes = [node for _, _, node in self._running.by_lowest_priority()]
            self._of_borrowers = self._sum(
                nodes, lambda each: each.queue is not None and is_over[each.queue]
            )
        return self._of_borrowers

    def _sum(self, nodes: Sequence[str], may_evict: Callable[[RunningPod], bool]) -> Evictable:
        charge = [0] * len(self._quotas.pool)
        on_node: dict[str, list[int]] = {}
        for node in nodes:
            for running_pod in self._running.on(node):
                if may_evict(running_pod):
                    charge = list(map(add, charge, running_pod.charge))
                    before = on_node.get(node)
                    on_node[node] = (
                        list(running_pod.requests)
                        if before is None
                        else list(map(add, before, running_pod.requests))
                    )
        return Evictable(charge, on_node)


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

    def may_fit(
        self, requests: Amounts, pods: int, *evictable: Mapping[str, Sequence[int]]
    ) -> bool:
        """Return whether so many pods with *requests* each may fit once *evictable* are gone.

        A pod that is in two of the given sums counts twice. Law: False means that they do not fit,
        whatever is nominated and whatever their constraints are. Cost: the nodes that changed since
        the last such question, and those in *evictable*.
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
        if not count.needed or count.total >= pods:
            return True
        return bool(evictable) and count.total + self._freed(count, evictable) >= pods

    def _freed(self, count: _Count, evictable: Sequence[Mapping[str, Sequence[int]]]) -> int:
        more = 0
        for name in {name for each in evictable for name in each}:
            freed = [each[name] for each in evictable if name in each]
            more += self._pods_on(count, name, freed) - count.on_node.get(name, 0)
        return more

    def _read(self, count: _Count, name: str) -> None:
        before = count.on_node.pop(name, 0)
        now = self._pods_on(count, name)
        if now:
            count.on_node[name] = now
        count.total += now - before

    def _pods_on(self, count: _Count, name: str, freed: Sequence[Sequence[int]] = ()) -> int:
        node = self._state.nodes.get(name)
        if node is None or not count.needed:
            return 0
        use, occupied = self._state.books.use(name), self._state.books.occupied(name)
        sizes, held, leaving = node.allocatable, use.held, use.leaving
        taken, released = occupied.held, occupied.leaving
        found = None
        for at, need in count.needed:
            free = sizes[at] - taken[at] - held[at] + leaving[at] + released[at]
            for each in freed:
                free += each[at]
            fitting = free // need
            if found is None or fitting < found:
                found = fitting
        return found if found is not None and found > 0 else 0


class Feasibility:
    """Follows quotas and running pods of one state, and classifies its pending groups."""

    def __init__(
        self,
        groups: PendingGroups,
        quotas: QuotaUsage,
        running_pods: RunningPods,
        room: FittingPods,
    ) -> None:
        """Classify the given groups."""
        self._groups: Final = groups
        self._quotas: Final = quotas
        self._running: Final = running_pods
        self._room: Final = room
        self._evictable: Final = EvictableIndex(quotas, running_pods)
        self._nodes_at = -1

    def update(self) -> None:
        """Classify new groups, and again those of quotas whose usage changed."""
        groups, changed = self._groups, self._quotas.after_termination.changed
        queues: list[QueueName | None] = [*changed, None]
        changed.clear()
        if self._nodes_at != self._running.nodes_version():
            self._nodes_at = self._running.nodes_version()
            queues = [*self._quotas.guaranteed, None]  # pods may be on nodes that were added
        for queue in queues:
            self._evictable.forget(queue)
            for each in groups.by_queue.get(queue, {}).values():
                self._classify(each)
        for each in groups.unclassified:
            self._classify(each)
        groups.unclassified.clear()

    def feasible_groups(self, demand_group: DemandGroup) -> Iterable[ShapeGroup]:
        """Return the groups of equal demands of which some workload may get something."""
        if any(map(self._may_fit, demand_group.demands)):
            return demand_group.groups.values()
        return [each for each in demand_group.may_preempt if self._may_preempt_enough(each.shape)]

    def _may_fit(self, demand: Demand) -> bool:
        """Return whether the pool and the nodes may have room for all pods of a demand together."""
        return self._is_in_pool(demand) and self._has_room(demand)

    def _may_preempt_enough(self, shape: WorkloadShape) -> bool:
        """Return whether the evictable pods may hold enough.

        A workload with affinity is always feasible here: it may fit only if not all of them are
        evicted.
        """
        return shape.needs_others or any(
            self._may_free_enough(shape, demand) for demand in shape.demands
        )

    def _may_free_enough(self, shape: WorkloadShape, demand: Demand) -> bool:
        queue = shape.queue
        own = self._evictable.of_lower_priority(queue, shape.priority)
        if queue is None:
            return self._has_room(demand, own.on_node)
        if not self._is_over(queue, demand, self._quotas.guaranteed[queue]):
            return self._has_room(demand, own.on_node, self._evictable.of_borrowers().on_node)
        return (
            self._is_in_pool(demand, own.charge)
            and not self._is_over(queue, demand, self._quotas.ceiling[queue], own.charge)
            and self._has_room(demand, own.on_node)
        )

    def _is_in_pool(self, demand: Demand, freed: Sequence[int] | None = None) -> bool:
        used, bounds = self._quotas.after_termination.pool, self._quotas.pool
        return not _exceeds(used, demand, bounds, freed)

    def _has_room(self, demand: Demand, *evictable: Mapping[str, Sequence[int]]) -> bool:
        return all(self._room.may_fit(requests, pods, *evictable) for requests, pods in demand.pods)

    def _classify(self, group: ShapeGroup) -> None:
        may_preempt = self._groups.by_demands[group.shape.demands].may_preempt
        if self._may_preempt(group.shape):
            may_preempt[group] = None
        else:
            may_preempt.pop(group, None)

    def _may_preempt(self, shape: WorkloadShape) -> bool:
        """Return whether there may be a candidate: of lower priority, or a borrower."""
        if shape.never_preempts:
            return False
        lowest = self._running.lowest_priority(shape.queue)
        if lowest is not None and lowest < shape.priority:
            return True
        if shape.queue is None:
            return False
        least = self._quotas.guaranteed[shape.queue]
        return not all(self._is_over(shape.queue, demand, least) for demand in shape.demands)

    def _is_over(
        self, queue: QueueName, demand: Demand, bounds: Limits, freed: Sequence[int] | None = None
    ) -> bool:
        return _exceeds(self._quotas.after_termination.used[queue], demand, bounds, freed)


def _exceeds(
    used: Sequence[int], demand: Demand, bounds: Limits, freed: Sequence[int] | None
) -> bool:
    """Return whether usage and demand exceed a bound, even if so much is *freed*."""
    for axis, amount in demand.charge:
        bound = bounds[axis]
        back = 0 if freed is None else freed[axis]
        if bound is not None and used[axis] + amount - back > bound:
            return True
    return False
