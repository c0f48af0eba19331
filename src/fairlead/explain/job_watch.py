"""Watches one cycle for the sake of one job, and writes down all that was weighed for it."""

from collections.abc import Iterator

import msgspec

from fairlead.explain.turn_order import why_before
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.plan import Decision, Tally
from fairlead.policy.kai.cycle import KaiCycle


class TurnBefore(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that another job had earlier, and why."""

    turn: int
    workload: WorkloadName
    queue: QueueName
    why: str


class GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue on the path and one axis that the job asks for.

    ``is_within_quota`` is None where the quota is no gate, because the job can be preempted.
    """

    queue: QueueName
    axis: Axis
    allocated: int
    non_preemptible: int
    request: int
    limit: int | None
    quota: int | None
    fair_share: int
    is_within_limit: bool
    is_within_quota: bool | None


class OwnTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What was weighed when the job had its first turn."""

    turn: int
    pods: tuple[str, ...]  # that were to start together
    gates: tuple[GateLine, ...]
    nodes: tuple[Tally, ...]  # what they are to the first of those pods


class JobWatch:
    """Listens to a cycle, turn by turn, decision by decision."""

    def __init__(self, cycle: KaiCycle, job: WorkloadName) -> None:
        """Watch for *job*."""
        self.before: list[TurnBefore] = []
        self.own: OwnTurn | None = None
        self.decisions: list[Decision] = []
        self._cycle = cycle
        self._job = job
        self._turns = 0
        self._is_in_line = _is_in_line(cycle, job)

    def run(self) -> None:
        """Let the cycle happen; its state must be on trial."""
        for decision in self._cycle.decisions(self._turn):
            if decision.workload == self._job:
                self.decisions.append(decision)

    def _turn(self, job: WorkloadName) -> None:
        self._turns += 1
        if self.own is not None or not self._is_in_line:
            return
        if job == self._job:
            self.own = self._weighed()
            return
        self.before.append(
            TurnBefore(
                turn=self._turns,
                workload=job,
                queue=self._cycle.state.workloads[job].queue,
                why=why_before(self._cycle, job, self._job),
            )
        )

    def _weighed(self) -> OwnTurn:
        workload = self._cycle.state.workloads[self._job]
        pods = self._cycle.jobs.next_pods(self._job)
        return OwnTurn(
            turn=self._turns,
            pods=tuple(workload.pod_name(pod) for pod in pods),
            gates=tuple(self._gates()),
            nodes=self._cycle.finder.tallies(workload, pods[0].pod_set),
        )

    def _gates(self) -> Iterator[GateLine]:
        cycle, state = self._cycle, self._cycle.state
        workload = state.workloads[self._job]
        request = cycle.jobs.request(self._job)
        for name in state.path(workload.queue):
            queue, sums = state.queues[name], state.sums[name]
            for at, more in enumerate(request):
                if more <= 0:
                    continue
                limit, quota = queue.ceiling[at], queue.guaranteed[at]
                fits_quota = quota is None or sums.non_preemptible[at] + more <= quota
                yield GateLine(
                    queue=name,
                    axis=state.axes.axes[at],
                    allocated=sums.allocated[at],
                    non_preemptible=sums.non_preemptible[at],
                    request=more,
                    limit=limit,
                    quota=quota,
                    fair_share=cycle.shares[name].fair_share[at],
                    is_within_limit=limit is None or sums.allocated[at] + more <= limit,
                    is_within_quota=None if workload.preemptible else fits_quota,
                )


def _is_in_line(cycle: KaiCycle, job: WorkloadName) -> bool:
    """Return whether *job* will have a turn; else nobody is before it."""
    queue = cycle.state.workloads[job].queue
    return (
        queue in cycle.numbers
        and not cycle.state.children(queue)
        and job in cycle.state.waiting(queue)
        and job not in cycle.jobs.unready
        and job not in cycle.jobs.beyond_depth
    )
