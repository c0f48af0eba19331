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
from fairlead.policy.kai.incremental.pending_queues import KindTally
from fairlead.policy.kai.jobs.job_class import Kind
from fairlead.policy.kai.jobs.start_job import JobStarter, Shortage
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.pruning.room import needs_of, times


class HopelessKinds:
    """Kinds of jobs of one state that lacked nothing but room, until there may be more of it."""

    def __init__(self, finder: NodeFinder) -> None:
        """Know of nobody yet."""
        self._finder = finder
        self._growth = 0  # of the room, when it was last looked at
        self._kinds: dict[Kind, Shortage] = {}

    def all(self) -> Set[Kind]:
        """Return those for which there is plainly no room now.

        Cost: a look at each node that grew, for each size of pod.
        """
        growth = self._finder.growth()
        if growth != self._growth:
            grown = self._finder.grown_since(self._growth)
            self._growth = growth
            if grown is None:
                self._kinds.clear()
            else:
                self._make_up_for_shortages(grown)
        return self._kinds.keys()

    def add(self, kind: Kind, shortage: Shortage) -> None:
        """Take notice of what a kind lacks, as of the last time all were asked for."""
        self._kinds[kind] = shortage

    def forget(self) -> None:
        """Forget everything: kinds have got other numbers."""
        self._kinds.clear()

    def _make_up_for_shortages(self, grown: Sequence[Growth]) -> None:
        """Count the places that nodes have won. What they lost meanwhile may have been the same."""
        sizes = {shortage.size for shortage in self._kinds.values()}
        won = {size: sum([_won(each, size) for each in grown]) for size in sizes}
        for kind, (size, places) in [*self._kinds.items()]:
            if won[size] >= places:
                del self._kinds[kind]
            elif won[size]:
                self._kinds[kind] = Shortage(size, places - won[size])


def _won(grown: Growth, size: Amounts) -> int:
    """Return how many more pods of a size a node has room for, but no less than none.

    Who asks for nothing lacks something else, of which one more node may be enough.
    """
    needs = needs_of(size)
    return max(0, times(grown.after, needs) - times(grown.before, needs)) if needs else 1


class Hopes:
    """Counts the jobs in line for which there may be room, kind by kind."""

    def __init__(
        self, tally: Mapping[Kind, KindTally], starter: JobStarter, hopeless: HopelessKinds
    ) -> None:
        """Count those who wait by their *tally*. Cost: a look for each kind not known *hopeless*.

        Of these more are noted as they are found.
        """
        self._starter = starter
        self._hopeless = hopeless
        self._tally = tally
        self._more: dict[Kind, int] = {}  # than these; fewer: below 0
        self._new: dict[Kind, tuple[WorkloadName, tuple[PodId, ...]]] = {}  # one of each other kind
        self._open = tally.keys() - hopeless.all()
        self._look_again()

    def are_left(self) -> bool:
        """Return whether anybody in line may find room."""
        return bool(self._open)

    def has(self, kind: Kind) -> bool:
        """Return whether one of that kind may find room."""
        return kind in self._open

    def open_kinds(self) -> Set[Kind]:
        """Return the kinds of those who may find room."""
        return self._open

    def take_notice(
        self, kind: Kind, job: WorkloadName, jobs: PendingJobs, *, is_placed: bool
    ) -> None:
        """Take notice that *job* had its turn: it has left the line, or stands there for more.

        It was of that *kind* before. *jobs* know what it would start next.
        """
        self._more[kind] = self._more.get(kind, 0) - 1
        if not self._count(kind):
            self._open.discard(kind)
        if is_placed:
            if pods := jobs.next_pods(job):
                self._join(jobs.kind(job), job, pods)
            self._look_again()

    def _count(self, kind: Kind) -> int:
        known = self._tally.get(kind)
        return self._more.get(kind, 0) + (0 if known is None else known.size)

    def _join(self, kind: Kind, job: WorkloadName, pods: tuple[PodId, ...]) -> None:
        self._more[kind] = self._more.get(kind, 0) + 1
        if kind not in self._tally:
            self._new.setdefault(kind, (job, pods))
        self._open.add(kind)

    def _look_again(self) -> None:
        for kind in [kind for kind in self._open if not self._may_find_room(kind)]:
            self._open.remove(kind)

    def _may_find_room(self, kind: Kind) -> bool:
        known = self._tally.get(kind)
        job, pods = self._new[kind] if known is None else (known.job, known.pods)
        if not self._starter.is_hopeless(job, pods):
            return True
        shortage = self._starter.shortage(job, pods)
        if shortage is not None:
            self._hopeless.add(kind, shortage)
        return False
