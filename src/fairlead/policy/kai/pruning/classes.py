"""Classes of pending jobs that are known to find no room, or that may reclaim."""

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import Growth
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.pending_queues import IncrementalPendingQueues
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.jobs.job_class import JobClass, JobClasses
from fairlead.policy.kai.jobs.start_job import Shortage
from fairlead.policy.kai.ordering.pending_queues import JobsByClass, PendingQueue
from fairlead.policy.kai.ordering.tournament import Draw
from fairlead.policy.kai.pruning.room import needs_of, times
from fairlead.policy.kai.reclaimable.gate import may_reclaim


class InfeasibleClasses:
    """Classes of jobs that lack nothing but room, until there may be more of it.

    A class without room in one cycle has none in the next, until nodes have gained as many places
    as it lacked: where a small job finished, jobs that need whole nodes need not look again.
    """

    def __init__(self, finder: NodeFinder, classes: JobClasses) -> None:
        """Know no class yet."""
        self._finder = finder
        self._numbering = classes
        self._generation = classes.generation
        self._growth = 0  # of the room, when it was last read
        self._shortages: dict[JobClass, Shortage] = {}

    def all(self) -> Set[JobClass]:
        """Return the classes that have no room now, as far as known.

        Cost: a look at each node that gained room, for each size of pod.
        """
        if self._generation != self._numbering.generation:
            self._generation = self._numbering.generation
            self._shortages.clear()
        growth = self._finder.growth()
        if growth != self._growth:
            grown = self._finder.grown_since(self._growth)
            self._growth = growth
            if grown is None:
                self._shortages.clear()
            else:
                self._reduce_shortages(grown)
        return self._shortages.keys()

    def add(self, job_class: JobClass, shortage: Shortage) -> None:
        """Remember what a class lacks, as of the last `all` call."""
        self._shortages[job_class] = shortage

    def _reduce_shortages(self, grown: Sequence[Growth]) -> None:
        """Count the places that nodes gained. What they lost meanwhile is not subtracted."""
        sizes = {shortage.size for shortage in self._shortages.values()}
        gained = {size: sum([_gained(each, size) for each in grown]) for size in sizes}
        for job_class, (size, places) in [*self._shortages.items()]:
            if gained[size] >= places:
                del self._shortages[job_class]
            elif gained[size]:
                self._shortages[job_class] = Shortage(size, places - gained[size])


def _gained(grown: Growth, size: Amounts) -> int:
    """Return for how many more pods of a size a node has room, at least 0.

    A pod without requests lacks something else, of which one more node may be enough.
    """
    needs = needs_of(size)
    return max(0, times(grown.after, needs) - times(grown.before, needs)) if needs else 1


class _Known(NamedTuple):
    """All that decides which classes of a queue may reclaim, and the answer."""

    classes: JobsByClass
    fair_share: Amounts
    guaranteed: Limits
    held: list[int]
    non_preemptible: list[int]
    reclaiming: list[JobClass]


class ReclaimingClasses:
    """Which classes of jobs may reclaim in each queue, kept until the queue or its jobs change."""

    def __init__(self, state: ClusterState) -> None:
        """Look at no queue yet."""
        self._state = state
        self._known: dict[QueueName, _Known] = {}
        self._draw: Draw | None = None
        self._seen = (0, 0)  # of the logs of changed queues and of changed shares
        self._open: set[QueueName] = set()  # with a class that may reclaim

    def is_any(self, division: IncrementalShares, pending: IncrementalPendingQueues) -> bool:
        """Return whether any pending job may reclaim. Cost: the queues that changed."""
        queues = pending.queues()
        log, entitled = division.changes.log(), division.entitled
        if division.draw is not self._draw:
            self._draw = division.draw
            self._open.clear()
            changed = {*division.leaves}
        else:
            seen, seen_entitled = self._seen
            changed = {*log.since(seen), *entitled.since(seen_entitled)}
        self._seen = log.moment, entitled.moment
        for name in changed:
            queue = queues.get(name) if name in division.leaves else None
            if queue and self.of(division.shares[name], queue.classes, pending.request):
                self._open.add(name)
            else:
                self._open.discard(name)
        return bool(self._open)

    def open_queues(
        self, pending: IncrementalPendingQueues
    ) -> list[tuple[QueueName, PendingQueue]]:
        """Return the queues with jobs that may reclaim, as of the last `is_any` call."""
        queues = pending.queues()
        return [(queue, queues[queue]) for queue in self._open]

    def of(
        self, share: KaiShare, classes: JobsByClass, request_of: Callable[[JobClass], Amounts]
    ) -> list[JobClass]:
        """Return which of *classes* may reclaim in the queue of *share*.

        *request_of* returns what a job of a class would cost its queue. Cost: a comparison of what
        the queue is due and holds; a look at one job of each class if that changed.
        """
        sums, guaranteed = self._state.sums[share.queue], self._state.queues[share.queue].guaranteed
        known = self._known.get(share.queue)
        if (
            known is not None
            and known.classes is classes
            and known.fair_share == share.fair_share
            and known.guaranteed == guaranteed
            and known.held == sums.allocated
            and known.non_preemptible == sums.non_preemptible
        ):
            return known.reclaiming
        found = [
            job_class
            for job_class, keys in classes.items()
            if self._may_reclaim(share, keys[0][-1], request_of(job_class))
        ]
        held, kept = sums.allocated.copy(), sums.non_preemptible.copy()
        self._known[share.queue] = _Known(classes, share.fair_share, guaranteed, held, kept, found)
        return found

    def _may_reclaim(self, share: KaiShare, job: WorkloadName, request: Amounts) -> bool:
        preemptible = self._state.workloads[job].preemptible
        return may_reclaim(self._state, share, request, preemptible=preemptible)
