"""Which of those who wait may have their claims met, while others have their turns.

In most cycles nobody may claim anything, or one of thousands. Who is left in line when no claim can
be met any more need not have its turn.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.pending_queues import (
    IncrementalPendingQueues,
    JobsByClass,
    PendingQueue,
)
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.jobs.job_class import JobClass
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import Draw
from fairlead.policy.kai.reclaimable.gate import may_reclaim


class AttemptFilter:
    """Counts the jobs in line whose claims may be met, kind by kind in each queue."""

    def __init__(
        self, jobs: PendingJobs, open_kinds: Callable[[QueueName, JobsByClass], Iterable[JobClass]]
    ) -> None:
        """Count all *jobs*; *open_kinds* says which kinds of a queue may have their claims met."""
        self._jobs = jobs
        self._open_kinds = open_kinds
        self._counts: dict[tuple[QueueName, JobClass], int] = {}
        self.look_again()

    def are_left(self) -> bool:
        """Return whether anybody in line may have its claim met."""
        return bool(self._counts)

    def has(self, queue: QueueName, job_class: JobClass) -> bool:
        """Return whether a job of that kind in *queue* may have its claim met."""
        return (queue, job_class) in self._counts

    def take_notice(self, queue: QueueName, job_class: JobClass, *, all_alike: bool) -> None:
        """Take notice that a job had its turn, and nothing changed.

        *all_alike*: the same holds of all of its kind in *queue*, until something changes.
        """
        count = self._counts.pop((queue, job_class), 0)
        if count > 1 and not all_alike:
            self._counts[queue, job_class] = count - 1

    def look_again(self) -> None:
        """Count anew, because something changed by which others may be admitted, or not."""
        self._counts = {
            (queue, job_class): len(classes[job_class])
            for queue, classes in self._jobs.classes()
            for job_class in self._open_kinds(queue, classes)
        }


class _Known(NamedTuple):
    """All that decides who of a queue may reclaim, and who does."""

    classes: JobsByClass
    fair_share: Amounts
    guaranteed: Limits
    held: list[int]
    kept: list[int]  # what of it cannot be preempted
    open: list[JobClass]


class ReclaimingClasses:
    """Which kinds of jobs may reclaim in each queue, kept until the queue or who waits changes."""

    def __init__(self, state: ClusterState) -> None:
        """Look at nobody yet."""
        self._state = state
        self._known: dict[QueueName, _Known] = {}
        self._draw: Draw | None = None
        self._seen = (0, 0)  # of what queues hold and ask for, and of what they are due
        self._open: set[QueueName] = set()  # in which somebody may reclaim

    def are_any_open(self, division: IncrementalShares, lines: IncrementalPendingQueues) -> bool:
        """Return whether anybody in *lines* may reclaim. Cost: the queues that changed."""
        known = lines.all()
        log, due = division.changes.log(), division.entitled
        if division.draw is not self._draw:
            self._draw = division.draw
            self._open.clear()
            changed = {*division.leaves}
        else:
            held, was_due = self._seen
            changed = {*log.since(held), *due.since(was_due)}
        self._seen = log.moment, due.moment
        for queue in changed:
            line = known.get(queue) if queue in division.leaves else None
            if line is not None and self.of(division.shares[queue], line.classes, lines.request):
                self._open.add(queue)
            else:
                self._open.discard(queue)
        return bool(self._open)

    def open_lines(self, lines: IncrementalPendingQueues) -> list[tuple[QueueName, PendingQueue]]:
        """Return the queues that were found open when it was last asked, with who waits there."""
        known = lines.all()
        return [(queue, known[queue]) for queue in self._open]

    def of(
        self, share: KaiShare, classes: JobsByClass, request_of: Callable[[JobClass], Amounts]
    ) -> list[JobClass]:
        """Return which of *classes* may reclaim in the queue of *share*.

        *request_of* tells what a job of a kind would cost its queue. Cost: a comparison of what the
        queue is due and holds; a look at one of each kind if that changed.
        """
        sums, guaranteed = self._state.sums[share.queue], self._state.queues[share.queue].guaranteed
        known = self._known.get(share.queue)
        if (
            known is not None
            and known.classes is classes
            and known.fair_share == share.fair_share
            and known.guaranteed == guaranteed
            and known.held == sums.allocated
            and known.kept == sums.non_preemptible
        ):
            return known.open
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
