"""Which pending workloads may get anything if attempted now; the others can be skipped.

Most pending workloads are over their min, and no pod of their namespace has a lower priority: they
may not preempt. If the pool is exhausted or the nodes lack room even after all terminating pods are
gone, they go on waiting and need no attempt. Pool and nodes are the same for all workloads of equal
demands, so these are checked once for all of them.

Workloads that may preempt are always attempted: those with a pod of lower priority in their
namespace, and those within their min.

Nominated pods are ignored here. They can only take room away, so no workload is skipped that an
attempt would help.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.incremental.pending_groups import (
    Demand,
    DemandGroup,
    PendingGroups,
    ShapeGroup,
    WorkloadShape,
)
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPods
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage

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
            for each in groups.by_queue.get(queue, {}).values():
                self._classify(each)
        for each in groups.unclassified:
            self._classify(each)
        groups.unclassified.clear()

    def feasible_groups(self, demand_group: DemandGroup) -> Iterable[ShapeGroup]:
        """Return the groups of equal demands of which some workload may get something."""
        if any(map(self._may_fit, demand_group.demands)):
            return demand_group.groups.values()
        return demand_group.may_preempt

    def _may_fit(self, demand: Demand) -> bool:
        """Return whether the pool and the nodes may have room for all pods of a demand together."""
        pool = self._quotas.after_termination.pool
        return not _exceeds(pool, demand, self._quotas.pool) and all(
            self._room.may_fit(requests, pods) for requests, pods in demand.pods
        )

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
        used = self._quotas.after_termination.used[shape.queue]
        return not all(_exceeds(used, demand, least) for demand in shape.demands)


def _exceeds(used: Sequence[int], demand: Demand, bounds: Amounts) -> bool:
    """Return whether usage and demand exceed a bound."""
    return any(used[axis] + amount > bounds[axis] for axis, amount in demand.charge)
