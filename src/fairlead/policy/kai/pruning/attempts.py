"""Which of those who wait may have their claims met, while others have their turns.

In most cycles nobody may claim anything, or one of thousands. Who is left in line when no claim can
be met any more need not have its turn.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.pending_queues import Kinds, QueueLine, WaitingLines
from fairlead.policy.kai.incremental.shares import FollowedShares
from fairlead.policy.kai.jobs.job_class import Kind
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import RaceCourse
from fairlead.policy.kai.reclaimable.gate import may_reclaim


class ClaimHopes:
    """Counts the jobs in line whose claims may be met, kind by kind in each queue."""

    def __init__(
        self, jobs: PendingJobs, open_kinds: Callable[[QueueName, Kinds], Iterable[Kind]]
    ) -> None:
        """Count all *jobs*; *open_kinds* says which kinds of a queue may have their claims met."""
        self._jobs = jobs
        self._open_kinds = open_kinds
        self._counts: dict[tuple[QueueName, Kind], int] = {}
        self.look_again()

    def are_left(self) -> bool:
        """Return whether anybody in line may have its claim met."""
        return bool(self._counts)

    def has(self, queue: QueueName, kind: Kind) -> bool:
        """Return whether a job of that kind in *queue* may have its claim met."""
        return (queue, kind) in self._counts

    def take_notice(self, queue: QueueName, kind: Kind, *, all_alike: bool) -> None:
        """Take notice that a job had its turn, and nothing changed.

        *all_alike*: the same holds of all of its kind in *queue*, until something changes.
        """
        count = self._counts.pop((queue, kind), 0)
        if count > 1 and not all_alike:
            self._counts[queue, kind] = count - 1

    def look_again(self) -> None:
        """Count anew, because something changed by which others may be admitted, or not."""
        self._counts = {
            (queue, kind): len(kinds[kind])
            for queue, kinds in self._jobs.kinds()
            for kind in self._open_kinds(queue, kinds)
        }


class _Known(NamedTuple):
    """All that decides who of a queue may reclaim, and who does."""

    kinds: Kinds
    fair_share: Amounts
    guaranteed: Limits
    held: list[int]
    kept: list[int]  # what of it cannot be preempted
    open: list[Kind]


class ReclaimKinds:
    """Which kinds of jobs may reclaim in each queue, kept until the queue or who waits changes."""

    def __init__(self, state: ClusterState) -> None:
        """Look at nobody yet."""
        self._state = state
        self._known: dict[QueueName, _Known] = {}
        self._course: RaceCourse | None = None
        self._seen = (0, 0)  # of what queues hold and ask for, and of what they are due
        self._open: set[QueueName] = set()  # in which somebody may reclaim

    def are_any_open(self, division: FollowedShares, lines: WaitingLines) -> bool:
        """Return whether anybody in *lines* may reclaim. Cost: the queues that changed."""
        known = lines.all()
        log, due = division.changes.log(), division.entitled
        if division.course is not self._course:
            self._course = division.course
            self._open.clear()
            changed = {*division.leaves}
        else:
            held, was_due = self._seen
            changed = {*log.since(held), *due.since(was_due)}
        self._seen = log.moment, due.moment
        for queue in changed:
            line = known.get(queue) if queue in division.leaves else None
            if line is not None and self.of(division.shares[queue], line.kinds, lines.request):
                self._open.add(queue)
            else:
                self._open.discard(queue)
        return bool(self._open)

    def open_lines(self, lines: WaitingLines) -> list[tuple[QueueName, QueueLine]]:
        """Return the queues that were found open when it was last asked, with who waits there."""
        known = lines.all()
        return [(queue, known[queue]) for queue in self._open]

    def of(
        self, share: KaiShare, kinds: Kinds, request_of: Callable[[Kind], Amounts]
    ) -> list[Kind]:
        """Return which of *kinds* may reclaim in the queue of *share*.

        *request_of* tells what a job of a kind would cost its queue. Cost: a comparison of what the
        queue is due and holds; a look at one of each kind if that changed.
        """
        sums, guaranteed = self._state.sums[share.queue], self._state.queues[share.queue].guaranteed
        known = self._known.get(share.queue)
        if (
            known is not None
            and known.kinds is kinds
            and known.fair_share == share.fair_share
            and known.guaranteed == guaranteed
            and known.held == sums.allocated
            and known.kept == sums.non_preemptible
        ):
            return known.open
        found = [
            kind
            for kind, keys in kinds.items()
            if self._may_reclaim(share, keys[0][-1], request_of(kind))
        ]
        held, kept = sums.allocated.copy(), sums.non_preemptible.copy()
        self._known[share.queue] = _Known(kinds, share.fair_share, guaranteed, held, kept, found)
        return found

    def _may_reclaim(self, share: KaiShare, job: WorkloadName, request: Amounts) -> bool:
        preemptible = self._state.workloads[job].preemptible
        return may_reclaim(self._state, share, request, preemptible=preemptible)
