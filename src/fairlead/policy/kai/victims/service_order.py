"""In which order a claimant and those who left for its sake are placed again in a try.

KAI gives a turn to everybody who waits: they get nothing in a try, but each in its turn shapes the
order of those who do. With thousands who wait nearly all of a try is turns of theirs. So only the
claimant and its victims stand in line here, each queue with what it would run next of these; as
KAI does it is for its faithful mode.
"""

from collections.abc import Set
from typing import Protocol, TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueTournament

Lined: TypeAlias = tuple[PendingJobs, QueueTournament]
"""Who stands in line, and how their queues meet."""


class ServiceOrder(Protocol):
    """Says who is served in which order, now that some have left."""

    def begin(self) -> None:
        """Take notice that a try is to be made, while nobody has left."""

    def line_up(self, pods: tuple[PodId, ...], victims: Set[WorkloadName]) -> Lined:
        """Line up the claimant with *pods* as its next, and the *victims*, who have left."""


class PreemptorAndVictims:
    """The claimant and its victims, nobody else."""

    def __init__(self, view: CycleContext, preemptor: WorkloadName) -> None:
        """Line up for *preemptor*."""
        self._view = view
        self._preemptor = preemptor

    def begin(self) -> None:
        """Nothing is made beforehand."""

    def line_up(self, pods: tuple[PodId, ...], victims: Set[WorkloadName]) -> Lined:
        """Line up as `ServiceOrder` says. Cost: their jobs, and the queues above them."""
        return self._view.pending_for({self._preemptor: pods}, victims)


class EveryPendingJob:
    """Everybody who waits, as in KAI."""

    def __init__(
        self, view: CycleContext, preemptor: WorkloadName, pods: tuple[PodId, ...]
    ) -> None:
        """Line up for *preemptor*, who wants *pods* in the end."""
        self._view = view
        self._preemptor = preemptor
        self._pods = pods
        self._at_start: Lined | None = None

    def begin(self) -> None:
        """Line up everybody as they stand before anybody leaves."""
        if self._at_start is None:
            jobs = self._view.waiting(None, {self._preemptor: self._pods})
            self._at_start = jobs, self._view.tournament(jobs)

    def line_up(self, pods: tuple[PodId, ...], victims: Set[WorkloadName]) -> Lined:
        """Line up as `ServiceOrder` says. Cost: the queues of those concerned, and a copy of all."""
        assert self._at_start is not None, "it is made before anybody leaves"
        jobs, tournament = self._at_start
        jobs = jobs.branch({self._preemptor: pods}, victims)
        workloads = self._view.state.workloads
        changed = {workloads[job].queue for job in (*victims, self._preemptor)}
        return jobs, tournament.branch(jobs.next_request, changed)
