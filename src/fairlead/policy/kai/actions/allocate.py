"""The action that gives idle room to jobs, each turn to the first job of the queue that is next.

A queue meets the others with its next job. If that is one for which there is no room, it says
nothing about who may have the room that is there: a queue with a large job in front would come
after others with whom it would compete at once with the small one behind. They would fill the room
beyond their shares, the small job would claim it back, and whoever left for it would be next to
fill what it left, cycle after cycle. So only those meet for whom there may be room, but in faithful
mode.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.record import Act
from fairlead.policy.kai.jobs.job_class import JobClass
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueTournament
from fairlead.policy.kai.pruning.feasibility import Feasibility

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is told whose turn it is, while the state is as that job finds it."""


class AllocateAction:
    """The turns of one cycle in which jobs start on idle room."""

    def __init__(self, view: CycleContext, at_most_starts: int | None = None) -> None:
        """Look at those who wait now. Nobody has had a turn.

        The round is cut once *at_most_starts* pods have started, or more if the last are a gang;
        None: it is not, and never where those who wait are told why.
        """
        self.view = view
        self.is_cut = False  # stopped before all had their turns
        self._starts_left = at_most_starts
        self._starter = view.starter()
        self._feasible: Feasibility | None = None  # None: every turn is taken, also in vain
        self._open: set[JobClass] = set()  # of those who meet because there may be room for them
        self._classes: dict[
            QueueName, set[JobClass]
        ] = {}  # of those in their queues who may find room
        self._refused: set[WorkloadName] = set()

    @cached_property
    def everybody(self) -> PendingJobs:
        """All who wait, or who wait in queues that matter; nobody is lined up before it does."""
        return self.view.waiting("allocate")

    @cached_property
    def jobs(self) -> PendingJobs:
        """Those who meet now."""
        return self.everybody

    @cached_property
    def tournament(self) -> QueueTournament:
        """The order in which the queues of those who meet now are served."""
        return self.view.tournament(self.jobs)

    def may_find_room(self, job: WorkloadName) -> bool:
        """Return whether *job*, which waits, is one of those who meet now."""
        return self._feasible is None or self._feasible.has(self.jobs.job_class(job))

    def run(self, listener: Listener | None) -> None:
        """Let all have their turns who may start something, then those who want to know why not.

        Law: who has its turn only after nobody could start any more, starts nothing. Cost: a look
        for each kind of job that waits, and again whenever somebody got a place; for each turn the
        depth of the tree, a few comparisons per level, and the search for nodes.
        """
        view = self.view
        if view.settings.faithful and view.explain:
            self._take_turns(listener)
            return
        self._feasible = feasible = Feasibility(
            view.tally("allocate"), self._starter, view.infeasible
        )
        if view.settings.faithful:
            self._take_turns(listener)
            return
        everybody = self.everybody.names() if view.explain else ()
        if feasible.are_left():
            self._let_those_meet_who_may_find_room(feasible)
            self._take_turns(listener)
        if view.explain:
            self._feasible = None
            self._open.clear()
            rest = [name for name in everybody if name not in self._refused]
            self.jobs = view.pending_only(rest)
            self.tournament = view.tournament_of_some(self.jobs)
            self._take_turns(listener)

    def _let_those_meet_who_may_find_room(self, feasible: Feasibility) -> None:
        if not self.view.explain:  # else all others are told why they wait
            self.everybody = self.view.waiting_in("allocate", feasible.open_kinds())
        for queue, classes in self.everybody.classes():
            found = {job_class for job_class in classes if feasible.has(job_class)}
            if found:
                self._classes[queue] = found
                self._open |= found
        self.jobs = self.everybody.starting_with(self._classes)
        self.tournament = self.view.tournament_of_some(self.jobs)

    def _take_turns(self, listener: Listener | None) -> None:
        """Let those who meet have their turns, as long as anybody may find room.

        One that starts, or has its room reserved, is put back for more, one pod at a time, if it
        has its minimum. Then the order is looked at anew, because its queue holds more than before.
        """
        feasible = self._feasible
        if feasible is not None and not feasible.are_left():
            return  # before anybody is lined up
        jobs, tournament = self.jobs, self.tournament
        while (queue := tournament.leader()) is not None and self._goes_on():
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if self._open and self.view.explain:
                self._tell_those_before(queue, listener)
            if listener is not None:
                listener(job)
            job_class = jobs.job_class(job)
            request = self.view.request(job_class)
            is_placed = (feasible is None or feasible.has(job_class)) and self._start(job)
            if is_placed:
                jobs.renew_first(queue)
            else:
                jobs.drop_first(queue)
            if is_placed or jobs.next_request(queue) != request:  # else it stands as before
                tournament.renew(queue)
            if feasible is not None:
                feasible.take_notice(job_class, job, jobs, is_placed=is_placed)
                if is_placed and self._open:
                    self._pass_over(feasible, queue, job)
                if self._open and self._has_passed_over(queue, feasible):
                    tournament.renew(queue)

    def _goes_on(self) -> bool:
        """Return whether the next one has its turn: it may find room, and the round is not cut."""
        if self._starts_left is not None and self._starts_left <= 0:
            self.is_cut = True
            return False
        return self._feasible is None or self._feasible.are_left()

    def _tell_those_before(self, queue: QueueName, listener: Listener | None) -> None:
        """Let those have their turn, in vain, who stand before the next one of *queue*."""
        next_key = self.jobs.first_key(queue)
        assert next_key is not None, "a queue without a job leads"
        while (key := self.everybody.first_key(queue)) is not None and key <= next_key:
            self.everybody.drop_first(queue)
            job = key[-1]
            if not self.may_find_room(job):
                if listener is not None:
                    listener(job)
                is_placed = self._start(job)
                assert not is_placed, "there was plainly no room"

    def _pass_over(self, feasible: Feasibility, grown: QueueName, job: WorkloadName) -> None:
        """Let those leave the fronts of their queues for whom *job* of *grown* has left no room."""
        jobs = self.jobs
        if jobs.next_pods(job):
            self._open.add(jobs.job_class(job))
            self._classes[grown].add(jobs.job_class(job))
        closed = [job_class for job_class in self._open if not feasible.has(job_class)]
        if closed:
            self._open.difference_update(closed)
            for queue in jobs.queues():
                if self._has_passed_over(queue, feasible):
                    self.tournament.renew(queue)

    def _has_passed_over(self, queue: QueueName, feasible: Feasibility) -> bool:
        """Let the first of *queue* stand in front for whom there may be room.

        Returns whether that is another one than before.
        """
        jobs = self.jobs
        before = jobs.first(queue)
        if not any(map(feasible.has, self._classes[queue])):
            jobs.leave_out(queue)
        while (first := jobs.first(queue)) is not None and not feasible.has(jobs.job_class(first)):
            jobs.drop_first(queue)
        return first != before

    def _start(self, job: WorkloadName) -> bool:
        """Give the next pods of a job their places if there are any; returns whether it did."""
        jobs, record = self.jobs, self.view.record
        pods = jobs.next_pods(job)
        record.touch(job)
        outcome = self._starter.start(job, jobs.gang(job), pods, jobs.request(job))
        if outcome.is_placed:
            record.act(Act(outcome.reason), [(job, pod) for pod in pods])
            if self._starts_left is not None:
                self._starts_left -= len(pods)
        else:
            self._refused.add(job)
            self.view.tell_wait(job, outcome.reason)
        return outcome.is_placed
