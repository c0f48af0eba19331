"""Which of those who wait for idle room may still find some, while room only shrinks.

Most cycles place one job or none, and then all others have their turn in vain. It is plain in a
glance at each kind of job, and the turns need not be taken once nobody is left who could start.
"""

from collections import Counter
from collections.abc import Mapping

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import PodId
from fairlead.policy.kai.job_kinds import Kind
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.start_job import JobStarter
from fairlead.policy.kai.waiting_lines import KindTally


class Hopes:
    """Counts the jobs in line for which there may be room, kind by kind."""

    def __init__(self, tally: Mapping[Kind, KindTally], starter: JobStarter) -> None:
        """Count those who wait by their *tally*. Cost: a look for each kind."""
        self._starter = starter
        self._counts = Counter({kind: each.size for kind, each in tally.items()})
        self._like = {kind: (each.job, each.pods) for kind, each in tally.items()}  # one of each
        self._open = set(self._like)
        self._look_again()

    def are_left(self) -> bool:
        """Return whether anybody in line may find room."""
        return bool(self._open)

    def has(self, kind: Kind) -> bool:
        """Return whether one of that kind may find room."""
        return kind in self._open

    def take_notice(
        self, kind: Kind, job: WorkloadName, jobs: PendingJobs, *, is_placed: bool
    ) -> None:
        """Take notice that *job* had its turn: it has left the line, or stands there for more.

        It was of that *kind* before. *jobs* know what it would start next.
        """
        self._counts[kind] -= 1
        if not self._counts[kind]:
            self._open.discard(kind)
        if is_placed:
            if pods := jobs.next_pods(job):
                self._join(jobs.kind(job), job, pods)
            self._look_again()

    def _join(self, kind: Kind, job: WorkloadName, pods: tuple[PodId, ...]) -> None:
        self._counts[kind] += 1
        self._like.setdefault(kind, (job, pods))
        self._open.add(kind)

    def _look_again(self) -> None:
        self._open = {kind for kind in self._open if self._may_find_room(kind)}

    def _may_find_room(self, kind: Kind) -> bool:
        return not self._starter.is_hopeless(*self._like[kind])
