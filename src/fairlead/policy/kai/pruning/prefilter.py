"""Which attempts are in vain, by bounds that are kept from cycle to cycle.

In most cycles no job may take anything from others, or one of thousands may. The bounds show it
with a look at each class of jobs.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import Growth
from fairlead.policy.kai.actions.prefilter import ActionInputs
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.jobs.alike import JobClass, JobClasses
from fairlead.policy.kai.jobs.start_job import Shortage
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.pending_queues import ClassSummary, JobsByClass
from fairlead.policy.kai.pruning.moves import FirstVictims, MoveBound, MoveBounds
from fairlead.policy.kai.pruning.room import RoomBound, needs_of, times
from fairlead.policy.kai.victims.attempt import Attempt
from fairlead.policy.kai.victims.solver import NewBounds


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


OpenClasses: TypeAlias = Callable[[QueueName, JobsByClass], Iterable[JobClass]]
IsOpenNow: TypeAlias = Callable[[QueueName, JobClass], bool]


class BoundsPrefilter:
    """The bounds of one state, for all its cycles."""

    skips_vain_turns = True
    new_bounds: NewBounds = RoomBound

    def __init__(self, sources: IncrementalSources) -> None:
        """Bound attempts on the state of *sources*."""
        state, finder = sources.state, sources.finder
        self.sources = sources
        self.infeasible = InfeasibleClasses(finder, sources.classes)
        self.first_victims = FirstVictims(state)
        self.moves = MoveBounds(state, finder)

    def for_action(self, inputs: ActionInputs) -> "ActionBounds":
        """Return the prefilter of one action."""
        return ActionBounds(self, inputs)


class ActionBounds:
    """Says which attempts of one action are in vain."""

    def __init__(self, kept: BoundsPrefilter, inputs: ActionInputs) -> None:
        """Bound one action with what is *kept* of the state."""
        self._kept = kept
        self._inputs = inputs
        self._action = inputs.action
        self._context = inputs.context
        self._moves: MoveBound | None = None  # None: not known since the last change
        self._movable: dict[JobClass, bool] = {}  # whether moving others may help

    def turn_filter(self, jobs: PendingJobs) -> "ClassFilter":
        """Return the filter for the turns of *jobs*."""
        if self._action == "consolidation":
            return ClassFilter(jobs, lambda _, classes: classes, partial(self._may_move_in, jobs))
        return ClassFilter(jobs, partial(self._open_classes, jobs), _always)

    def may_succeed(self, attempt: Attempt, pods: tuple[PodId, ...]) -> bool:
        """Return whether a search for *pods* may succeed; one to be explained is always made."""
        if self._context.explain or self._action != "consolidation":
            return True
        return self._may_moving_help(attempt, pods)

    def note_change(self) -> None:
        """Forget what depends on the state, which has changed."""
        self._moves = None
        self._movable.clear()

    def _open_classes(
        self, jobs: PendingJobs, queue: QueueName, classes: JobsByClass
    ) -> Iterable[JobClass]:
        """Return the classes in *queue* that may reclaim or preempt, until the queue changes.

        No other queue can admit them: what is not preemptible is not evicted.
        """
        context = self._context
        if self._action == "preempt":
            lowest, next_job = context.sources.candidates.lowest_priority(queue), jobs.first(queue)
            workloads = context.state.workloads
            if lowest is None or next_job is None or lowest >= workloads[next_job].priority:
                return ()  # no candidate has a lower priority than the first job
        first = {each: keys[0][-1] for each, keys in classes.items()}
        return [each for each, job in first.items() if self._attempt(each, job).is_admitted()]

    def _may_move_in(self, jobs: PendingJobs, queue: QueueName, job_class: JobClass) -> bool:
        """Return whether moving others may help a class of which *queue* has a job."""
        if job_class in self._movable:
            return self._movable[job_class]
        keys = jobs.classes_of(queue)[job_class]
        job = keys[0][-1]
        return self._may_move_for(job_class, ClassSummary(len(keys), job, jobs.next_pods(job)))

    def _may_move_for(self, job_class: JobClass, one: ClassSummary) -> bool:
        """Return whether moving others may help a class of job, in whichever queue it is.

        Where there may be room for it as it is, the candidates need no look.
        """
        if job_class not in self._movable:
            attempt = self._attempt(job_class, one.job)
            self._movable[job_class] = attempt.is_admitted() and (
                self._may_fit(job_class, one) or self.may_succeed(attempt, one.pods)
            )
        return self._movable[job_class]

    def _may_fit(self, job_class: JobClass, one: ClassSummary) -> bool:
        if job_class in self._kept.infeasible.all():
            return False
        return not self._context.starter(explain=False).is_infeasible(one.job, one.pods)

    def _may_moving_help(self, attempt: Attempt, pods: tuple[PodId, ...]) -> bool:
        """Return whether *pods* may fit if candidates are moved."""
        if attempt.workload.name in self._context.state.runs:
            return True  # it could be moved for others, but not for itself
        finder = self._context.finder
        if self._moves is None:
            kept, most = self._kept, self._inputs.most_victims
            candidates = self._inputs.candidates
            first = kept.first_victims.first(most, kept.sources.shares, candidates)
            self._moves = kept.moves.bound(first)
        asked = [attempt.workload.pod_sets.of(pod) for pod in pods]
        sizes = [finder.besides_shares(each) for each in asked]
        return self._moves.allows(sizes, finder.nodes_with_room(asked))

    def _attempt(self, job_class: JobClass, job: WorkloadName) -> Attempt:
        request = self._context.request(job_class)
        return Attempt(self._inputs.attempts, self._action, job, request)


class ClassFilter:
    """Knows the classes of each queue with turns to come whose attempts may succeed.

    Without it a cycle in which 2,000 jobs may not reclaim takes 1.23 times as long.
    """

    def __init__(
        self, jobs: PendingJobs, open_classes: OpenClasses, is_open_now: IsOpenNow
    ) -> None:
        """Follow *jobs* while they have their turns.

        *open_classes* returns the classes of a queue that may succeed until a job of the queue
        changes, *is_open_now* whether that is so in the present state.
        """
        self._jobs = jobs
        self._open_classes = open_classes
        self._is_open_now = is_open_now
        self._open: dict[QueueName, set[JobClass]] = {}
        self._found: tuple[QueueName, JobClass] | None = None  # one that may succeed
        self._look_at(jobs.queues())

    def is_any_left(self) -> bool:
        """Return whether the attempt of any job with a turn to come may succeed.

        Cost: none as long as the class that was found the last time has jobs and is open.
        """
        if self._found is None or not self.may_succeed(*self._found):
            pairs = ((queue, each) for queue, found in self._open.items() for each in found)
            self._found = next((pair for pair in pairs if self.may_succeed(*pair)), None)
        return self._found is not None

    def may_succeed(self, queue: QueueName, job_class: JobClass) -> bool:
        """Return whether the attempt of a job of that class in *queue* may succeed."""
        return (
            job_class in self._open.get(queue, ())
            and job_class in self._jobs.classes_of(queue)
            and self._is_open_now(queue, job_class)
        )

    def note_change(self, queues: Set[QueueName]) -> None:
        """Look again at *queues*, in which jobs changed."""
        self._look_at(queues)

    def _look_at(self, queues: Iterable[QueueName]) -> None:
        for queue in queues:
            if self._jobs.first(queue) is None:
                self._open.pop(queue, None)
            else:
                self._open[queue] = {*self._open_classes(queue, self._jobs.classes_of(queue))}


def _always(_queue: QueueName, _job_class: JobClass) -> bool:
    return True
