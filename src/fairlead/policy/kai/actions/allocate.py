"""The allocate action: idle room goes to jobs, each turn to the first job of the next queue.

A queue meets the others with its next job. If there is no room for that job, it says nothing about
which queue should have the room: a queue with a large job in front would come after others, with
which it would compete at once with the small job behind. Those would fill the room beyond their
shares, the small job would reclaim it, and the victims would be next to fill what it left, cycle
after cycle. So only jobs meet for which there may be room, except in faithful mode.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.prefilter import KnownInfeasible, Prefilter
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.jobs.cycle_record import Act
from fairlead.policy.kai.jobs.start_job import JobStarter
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.pending_queues import ClassSummary
from fairlead.policy.kai.ordering.tournament import QueueTournament

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is called with the job that has its turn, while the state is as that job finds it."""


class Feasibility:
    """For which classes of pending jobs there may be room, while room only shrinks."""

    def __init__(
        self,
        summaries: Mapping[JobClass, ClassSummary],
        starter: JobStarter,
        infeasible: KnownInfeasible,
    ) -> None:
        """Look at the classes in *summaries*, except those known to be *infeasible*.

        Classes that turn out to be infeasible are added there. Cost: a look for each class.
        """
        self._starter = starter
        self._infeasible = infeasible
        self._summaries = summaries
        self._more: dict[JobClass, int] = {}  # jobs than these; fewer: below 0
        self._new: dict[JobClass, tuple[WorkloadName, tuple[PodId, ...]]] = {}  # of other classes
        self._feasible = summaries.keys() - infeasible.all()
        self._look_again()

    def is_any_left(self) -> bool:
        """Return whether there may be room for any job with a turn to come."""
        return bool(self._feasible)

    def has(self, job_class: JobClass) -> bool:
        """Return whether there may be room for a job of that class."""
        return job_class in self._feasible

    def note_turn(
        self, job_class: JobClass, job: WorkloadName, jobs: PendingJobs, *, is_placed: bool
    ) -> None:
        """Note that *job*, which was of that class, had its turn.

        It is done, or waits for another turn with the next pods that *jobs* have of it.
        """
        self._more[job_class] = self._more.get(job_class, 0) - 1
        if not self._count(job_class):
            self._feasible.discard(job_class)
        if is_placed:
            if pods := jobs.next_pods(job):
                self._add(jobs.job_class(job), job, pods)
            self._look_again()

    def _count(self, job_class: JobClass) -> int:
        known = self._summaries.get(job_class)
        return self._more.get(job_class, 0) + (0 if known is None else known.size)

    def _add(self, job_class: JobClass, job: WorkloadName, pods: tuple[PodId, ...]) -> None:
        self._more[job_class] = self._more.get(job_class, 0) + 1
        if job_class not in self._summaries:
            self._new.setdefault(job_class, (job, pods))
        self._feasible.add(job_class)

    def _look_again(self) -> None:
        for job_class in [each for each in self._feasible if not self._may_fit(each)]:
            self._feasible.remove(job_class)

    def _may_fit(self, job_class: JobClass) -> bool:
        known = self._summaries.get(job_class)
        job, pods = self._new[job_class] if known is None else (known.job, known.pods)
        if not self._starter.is_infeasible(job, pods):
            return True
        shortage = self._starter.shortage(job, pods)
        if shortage is not None:
            self._infeasible.add(job_class, shortage)
        return False


class AllocateAction:
    """The turns of one cycle in which jobs start on idle room."""

    def __init__(
        self, context: CycleContext, prefilter: Prefilter, at_most_starts: int | None = None
    ) -> None:
        """Look at the jobs that are pending now. No job has had a turn.

        The action stops after *at_most_starts* started pods, but not within a gang; None: it does
        not.
        """
        self.context = context
        self.is_cut = False  # stopped before all jobs had their turns
        self._prefilter = prefilter
        self._starts_left = at_most_starts
        self._starter = context.starter(explain=context.explain)
        self._feasibility: Feasibility | None = None  # None: every turn is taken, also in vain
        self._open: set[JobClass] = set()  # of the jobs that meet because there may be room
        self._classes: dict[QueueName, set[JobClass]] = {}  # the same, by queue
        self._refused: set[WorkloadName] = set()

    @cached_property
    def all_jobs(self) -> PendingJobs:
        """All pending jobs."""
        return self.context.waiting("allocate")

    @cached_property
    def jobs(self) -> PendingJobs:
        """The jobs that meet now."""
        return self.all_jobs

    @cached_property
    def tournament(self) -> QueueTournament:
        """The order in which the queues of these jobs are served."""
        return self.context.tournament(self.jobs)

    def may_find_room(self, job: WorkloadName) -> bool:
        """Return whether the pending *job* is one of those that meet now."""
        return self._feasibility is None or self._feasibility.has(self.jobs.job_class(job))

    def run(self, listener: Listener | None) -> None:
        """Give turns to the jobs that may start, then to the others if they are to be explained.

        Law: a job whose turn comes after no feasible job is left starts nothing. Cost: a look for
        each class of pending jobs, again after each success; for each turn the depth of the queue
        tree, a few comparisons per level, and the search for nodes.
        """
        context = self.context
        faithful, explain = context.settings.faithful, context.explain
        if faithful and (explain or not self._prefilter.skips_vain_turns):
            self._take_turns(listener)
            return
        summaries = context.summaries("allocate")
        feasibility = Feasibility(summaries, self._starter, self._prefilter.infeasible)
        self._feasibility = feasibility
        if faithful:
            self._take_turns(listener)
            return
        names = self.all_jobs.names() if explain else ()
        if feasibility.is_any_left():
            self._let_feasible_jobs_meet(feasibility)
            self._take_turns(listener)
        if explain and context.state.has_waiting() and not self.is_cut:
            self._feasibility = None
            self._open.clear()
            self.jobs = context.pending_only([n for n in names if n not in self._refused])
            self.tournament = context.tournament(self.jobs)
            self._take_turns(listener)

    def _let_feasible_jobs_meet(self, feasibility: Feasibility) -> None:
        for queue, classes in self.all_jobs.classes():
            found = {each for each in classes if feasibility.has(each)}
            if found:
                self._classes[queue] = found
                self._open |= found
        self.jobs = self.all_jobs.starting_with(self._classes)
        self.tournament = self.context.tournament(self.jobs)

    def _take_turns(self, listener: Listener | None) -> None:
        """Give turns to the jobs that meet, as long as there may be room for any of them.

        A job that starts, or gets a reservation, is put back for more, one pod at a time, once it
        has its minimum. Then the order is computed again, because its queue holds more.
        """
        feasibility = self._feasibility
        if feasibility is not None and not feasibility.is_any_left():
            return  # before any queue is ordered
        jobs, tournament = self.jobs, self.tournament
        while (queue := tournament.leader()) is not None and self._goes_on():
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if self._open and self.context.explain:
                self._explain_jobs_before(queue, listener)
            if listener is not None:
                listener(job)
            job_class = jobs.job_class(job)
            request = self.context.request(job_class)
            is_placed = (feasibility is None or feasibility.has(job_class)) and self._start(job)
            if is_placed:
                jobs.renew_first(queue)
            else:
                jobs.drop_first(queue)
            if is_placed or jobs.next_request(queue) != request:  # else its offer is the same
                tournament.renew(queue)
            if feasibility is not None:
                feasibility.note_turn(job_class, job, jobs, is_placed=is_placed)
                if is_placed and self._open:
                    self._skip_infeasible(feasibility, queue, job)
                if self._open and self._has_skipped(queue, feasibility):
                    tournament.renew(queue)

    def _goes_on(self) -> bool:
        """Return whether there is another turn: room may be left, and the action is not cut."""
        if self._starts_left is not None and self._starts_left <= 0:
            self.is_cut = True
            return False
        return self._feasibility is None or self._feasibility.is_any_left()

    def _explain_jobs_before(self, queue: QueueName, listener: Listener | None) -> None:
        """Give turns, in vain, to the infeasible jobs of *queue* before its next one."""
        next_key = self.jobs.first_key(queue)
        assert next_key is not None, "a queue without a job leads"
        while (key := self.all_jobs.first_key(queue)) is not None and key <= next_key:
            self.all_jobs.drop_first(queue)
            job = key[-1]
            if not self.may_find_room(job):
                if listener is not None:
                    listener(job)
                is_placed = self._start(job)
                assert not is_placed, "there was plainly no room"

    def _skip_infeasible(
        self, feasibility: Feasibility, grown: QueueName, job: WorkloadName
    ) -> None:
        """Skip the first jobs of queues for which *job* of *grown* has left no room."""
        jobs = self.jobs
        if jobs.next_pods(job):
            self._open.add(jobs.job_class(job))
            self._classes[grown].add(jobs.job_class(job))
        closed = [each for each in self._open if not feasibility.has(each)]
        if closed:
            self._open.difference_update(closed)
            for queue in jobs.queues():
                if self._has_skipped(queue, feasibility):
                    self.tournament.renew(queue)

    def _has_skipped(self, queue: QueueName, feasibility: Feasibility) -> bool:
        """Skip the jobs of *queue* before its first feasible one; returns if there were some."""
        jobs = self.jobs
        before = jobs.first(queue)
        if not any(map(feasibility.has, self._classes[queue])):
            jobs.remove_queue(queue)
        while (first := jobs.first(queue)) is not None and not feasibility.has(
            jobs.job_class(first)
        ):
            jobs.drop_first(queue)
        return first != before

    def _start(self, job: WorkloadName) -> bool:
        """Give the next pods of a job their places if there are any; returns whether it did."""
        jobs, record = self.jobs, self.context.record
        pods = jobs.next_pods(job)
        record.touch(job)
        outcome = self._starter.start(job, jobs.gang(job), pods, jobs.request(job))
        if outcome.is_placed:
            record.act(Act(outcome.reason), [(job, pod) for pod in pods])
            if self._starts_left is not None:
                self._starts_left -= len(pods)
        else:
            self._refused.add(job)
            self.context.note_wait(job, outcome.reason)
        return outcome.is_placed
