"""Which of those who wait for idle room may still find some, while room only shrinks.

Most cycles place one job or none, and then all others have their turn in vain. It is plain in a
glance at each kind of job, and the turns need not be taken once nobody is left who could start.
For whom there was no room in one cycle there is none in the next, until nodes have won as many
places as it lacked: where a small job finished, those who wait for whole nodes need not look again.
"""

from collections.abc import Mapping, Sequence, Set

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import Growth
from fairlead.policy.kai.incremental.pending_queues import ClassSummary
from fairlead.policy.kai.jobs.job_class import JobClass
from fairlead.policy.kai.jobs.start_job import JobStarter, Shortage
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.pruning.room import needs_of, times


class InfeasibleClasses:
    """JobsByClass of jobs of one state that lacked nothing but room, until there may be more of it."""

    def __init__(self, finder: NodeFinder) -> None:
        """Know of nobody yet."""
        self._finder = finder
        self._growth = 0  # of the room, when it was last looked at
        self._classes: dict[JobClass, Shortage] = {}

    def all(self) -> Set[JobClass]:
        """Return those for which there is plainly no room now.

        Cost: a look at each node that grew, for each size of pod.
        """
        growth = self._finder.growth()
        if growth != self._growth:
            grown = self._finder.grown_since(self._growth)
            self._growth = growth
            if grown is None:
                self._classes.clear()
            else:
                self._make_up_for_shortages(grown)
        return self._classes.keys()

    def add(self, job_class: JobClass, shortage: Shortage) -> None:
        """Take notice of what a kind lacks, as of the last time all were asked for."""
        self._classes[job_class] = shortage

    def forget(self) -> None:
        """Forget everything: kinds have got other numbers."""
        self._classes.clear()

    def _make_up_for_shortages(self, grown: Sequence[Growth]) -> None:
        """Count the places that nodes have won. What they lost meanwhile may have been the same."""
        sizes = {shortage.size for shortage in self._classes.values()}
        won = {size: sum([_won(each, size) for each in grown]) for size in sizes}
        for job_class, (size, places) in [*self._classes.items()]:
            if won[size] >= places:
                del self._classes[job_class]
            elif won[size]:
                self._classes[job_class] = Shortage(size, places - won[size])


def _won(grown: Growth, size: Amounts) -> int:
    """Return how many more pods of a size a node has room for, but no less than none.

    Who asks for nothing lacks something else, of which one more node may be enough.
    """
    needs = needs_of(size)
    return max(0, times(grown.after, needs) - times(grown.before, needs)) if needs else 1


class Feasibility:
    """Counts the jobs in line for which there may be room, kind by kind."""

    def __init__(
        self,
        tally: Mapping[JobClass, ClassSummary],
        starter: JobStarter,
        infeasible: InfeasibleClasses,
    ) -> None:
        """Count those who wait by their *tally*. Cost: a look for each kind not known *infeasible*.

        Of these more are noted as they are found.
        """
        self._starter = starter
        self._infeasible = infeasible
        self._tally = tally
        self._more: dict[JobClass, int] = {}  # than these; fewer: below 0
        self._new: dict[
            JobClass, tuple[WorkloadName, tuple[PodId, ...]]
        ] = {}  # one of each other kind
        self._open = tally.keys() - infeasible.all()
        self._look_again()

    def are_left(self) -> bool:
        """Return whether anybody in line may find room."""
        return bool(self._open)

    def has(self, job_class: JobClass) -> bool:
        """Return whether one of that kind may find room."""
        return job_class in self._open

    def open_kinds(self) -> Set[JobClass]:
        """Return the kinds of those who may find room."""
        return self._open

    def take_notice(
        self, job_class: JobClass, job: WorkloadName, jobs: PendingJobs, *, is_placed: bool
    ) -> None:
        """Take notice that *job* had its turn: it has left the line, or stands there for more.

        It was of that *job_class* before. *jobs* know what it would start next.
        """
        self._more[job_class] = self._more.get(job_class, 0) - 1
        if not self._count(job_class):
            self._open.discard(job_class)
        if is_placed:
            if pods := jobs.next_pods(job):
                self._join(jobs.job_class(job), job, pods)
            self._look_again()

    def _count(self, job_class: JobClass) -> int:
        known = self._tally.get(job_class)
        return self._more.get(job_class, 0) + (0 if known is None else known.size)

    def _join(self, job_class: JobClass, job: WorkloadName, pods: tuple[PodId, ...]) -> None:
        self._more[job_class] = self._more.get(job_class, 0) + 1
        if job_class not in self._tally:
            self._new.setdefault(job_class, (job, pods))
        self._open.add(job_class)

    def _look_again(self) -> None:
        for job_class in [
            job_class for job_class in self._open if not self._may_find_room(job_class)
        ]:
            self._open.remove(job_class)

    def _may_find_room(self, job_class: JobClass) -> bool:
        known = self._tally.get(job_class)
        job, pods = self._new[job_class] if known is None else (known.job, known.pods)
        if not self._starter.is_infeasible(job, pods):
            return True
        shortage = self._starter.shortage(job, pods)
        if shortage is not None:
            self._infeasible.add(job_class, shortage)
        return False
