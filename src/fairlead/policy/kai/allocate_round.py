"""The action that gives idle room to jobs, each turn to the first job of the queue that is next."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.policy.kai.cycle_record import Act
from fairlead.policy.kai.cycle_view import CycleView
from fairlead.policy.kai.hopes import Hopes
from fairlead.policy.kai.queue_race import QueueRace

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is told whose turn it is, while the state is as that job finds it."""


class AllocateRound:
    """The turns of one cycle in which jobs start on idle room."""

    def __init__(self, view: CycleView) -> None:
        """Line up those who wait now. Nobody has had a turn."""
        self.view = view
        self.jobs = view.waiting("allocate")
        self._starter = view.starter()

    @cached_property
    def race(self) -> QueueRace:
        """The order in which queues are served."""
        return self.view.race(self.jobs)

    def run(self, listener: Listener | None) -> None:
        """Let every job have its turn; those who cannot have room only if anybody asks why.

        One starts, or has its room reserved, or is told why it waits; then the order is looked at
        anew, because the queue holds more than before. A job that got its minimum is put back for
        more, one pod at a time. Cost: for each turn the depth of the tree, a few comparisons per
        level, and the search for nodes.
        """
        jobs = self.jobs
        hopes = None if self.view.tells_why else Hopes(jobs, self._starter)
        if hopes is not None and not hopes.are_left():
            return
        race = self.race
        while (queue := race.leader()) is not None and (hopes is None or hopes.are_left()):
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if listener is not None:
                listener(job)
            kind, request = jobs.kind(job), jobs.request(job)
            is_placed = (hopes is None or hopes.has(kind)) and self._start(job)
            if is_placed:
                jobs.renew_first(queue)
            else:
                jobs.drop_first(queue)
            if is_placed or jobs.next_request(queue) != request:  # else it stands as before
                race.renew(queue)
            if hopes is not None:
                hopes.take_notice(kind, job, is_placed=is_placed)

    def _start(self, job: WorkloadName) -> bool:
        """Give the next pods of a job their places if there are any; returns whether it did."""
        jobs, record = self.jobs, self.view.record
        pods = jobs.next_pods(job)
        record.touch(job)
        outcome = self._starter.start(job, jobs.gang(job), pods, jobs.request(job))
        if outcome.is_placed:
            record.act(Act(outcome.reason), [(job, pod) for pod in pods])
        else:
            self.view.tell_wait(job, outcome.reason)
        return outcome.is_placed
