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
from fairlead.policy.kai.actions.context import CycleView
from fairlead.policy.kai.actions.record import Act
from fairlead.policy.kai.jobs.job_class import Kind
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueRace
from fairlead.policy.kai.pruning.feasibility import Hopes

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is told whose turn it is, while the state is as that job finds it."""


class AllocateRound:
    """The turns of one cycle in which jobs start on idle room."""

    def __init__(self, view: CycleView, at_most_starts: int | None = None) -> None:
        """Look at those who wait now. Nobody has had a turn.

        The round is cut once *at_most_starts* pods have started, or more if the last are a gang;
        None: it is not, and never where those who wait are told why.
        """
        self.view = view
        self.is_cut = False  # stopped before all had their turns
        self._starts_left = at_most_starts
        self._starter = view.starter()
        self._hopes: Hopes | None = None  # None: every turn is taken, also in vain
        self._open: set[Kind] = set()  # of those who meet because there may be room for them
        self._kinds: dict[QueueName, set[Kind]] = {}  # of those in their queues who may find room
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
    def race(self) -> QueueRace:
        """The order in which the queues of those who meet now are served."""
        return self.view.race(self.jobs)

    def may_find_room(self, job: WorkloadName) -> bool:
        """Return whether *job*, which waits, is one of those who meet now."""
        return self._hopes is None or self._hopes.has(self.jobs.kind(job))

    def run(self, listener: Listener | None) -> None:
        """Let all have their turns who may start something, then those who want to know why not.

        Law: who has its turn only after nobody could start any more, starts nothing. Cost: a look
        for each kind of job that waits, and again whenever somebody got a place; for each turn the
        depth of the tree, a few comparisons per level, and the search for nodes.
        """
        view = self.view
        if view.settings.faithful and view.tells_why:
            self._take_turns(listener)
            return
        self._hopes = hopes = Hopes(view.tally("allocate"), self._starter, view.hopeless)
        if view.settings.faithful:
            self._take_turns(listener)
            return
        everybody = self.everybody.names() if view.tells_why else ()
        if hopes.are_left():
            self._let_those_meet_who_may_find_room(hopes)
            self._take_turns(listener)
        if view.tells_why:
            self._hopes = None
            self._open.clear()
            rest = [name for name in everybody if name not in self._refused]
            self.jobs = view.line_of_some(rest)
            self.race = view.race_of_some(self.jobs)
            self._take_turns(listener)

    def _let_those_meet_who_may_find_room(self, hopes: Hopes) -> None:
        if not self.view.tells_why:  # else all others are told why they wait
            self.everybody = self.view.waiting_of("allocate", hopes.open_kinds())
        for queue, kinds in self.everybody.kinds():
            found = {kind for kind in kinds if hopes.has(kind)}
            if found:
                self._kinds[queue] = found
                self._open |= found
        self.jobs = self.everybody.from_first_of(self._kinds)
        self.race = self.view.race_of_some(self.jobs)

    def _take_turns(self, listener: Listener | None) -> None:
        """Let those who meet have their turns, as long as anybody may find room.

        One that starts, or has its room reserved, is put back for more, one pod at a time, if it
        has its minimum. Then the order is looked at anew, because its queue holds more than before.
        """
        hopes = self._hopes
        if hopes is not None and not hopes.are_left():
            return  # before anybody is lined up
        jobs, race = self.jobs, self.race
        while (queue := race.leader()) is not None and self._goes_on():
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if self._open and self.view.tells_why:
                self._tell_those_before(queue, listener)
            if listener is not None:
                listener(job)
            kind = jobs.kind(job)
            request = self.view.request(kind)
            is_placed = (hopes is None or hopes.has(kind)) and self._start(job)
            if is_placed:
                jobs.renew_first(queue)
            else:
                jobs.drop_first(queue)
            if is_placed or jobs.next_request(queue) != request:  # else it stands as before
                race.renew(queue)
            if hopes is not None:
                hopes.take_notice(kind, job, jobs, is_placed=is_placed)
                if is_placed and self._open:
                    self._pass_over(hopes, queue, job)
                if self._open and self._has_passed_over(queue, hopes):
                    race.renew(queue)

    def _goes_on(self) -> bool:
        """Return whether the next one has its turn: it may find room, and the round is not cut."""
        if self._starts_left is not None and self._starts_left <= 0:
            self.is_cut = True
            return False
        return self._hopes is None or self._hopes.are_left()

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

    def _pass_over(self, hopes: Hopes, grown: QueueName, job: WorkloadName) -> None:
        """Let those leave the fronts of their queues for whom *job* of *grown* has left no room."""
        jobs = self.jobs
        if jobs.next_pods(job):
            self._open.add(jobs.kind(job))
            self._kinds[grown].add(jobs.kind(job))
        closed = [kind for kind in self._open if not hopes.has(kind)]
        if closed:
            self._open.difference_update(closed)
            for queue in jobs.queues():
                if self._has_passed_over(queue, hopes):
                    self.race.renew(queue)

    def _has_passed_over(self, queue: QueueName, hopes: Hopes) -> bool:
        """Let the first of *queue* stand in front for whom there may be room.

        Returns whether that is another one than before.
        """
        jobs = self.jobs
        before = jobs.first(queue)
        if not any(map(hopes.has, self._kinds[queue])):
            jobs.leave_out(queue)
        while (first := jobs.first(queue)) is not None and not hopes.has(jobs.kind(first)):
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
