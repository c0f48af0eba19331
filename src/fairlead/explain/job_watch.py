"""Watches one cycle for the sake of one job, and writes down all that was weighed for it.

A job that grows pod by pod has many turns, and the last decides what it is told. Which one that is
shows only at the end, so the cycle is run twice: once to count, once to watch.
"""

from collections.abc import Iterator, Sequence

import msgspec

from fairlead.explain.node_standing import NodeStanding, node_standings
from fairlead.explain.turn_order import why_before
from fairlead.explain.turns_before import TurnBefore
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Tally
from fairlead.policy.kai.api import KaiCycle


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
    """What was weighed when the job had its last turn."""

    turn: int
    pods: tuple[str, ...]  # that were to start together
    gates: tuple[GateLine, ...]
    nodes: tuple[Tally, ...]  # what they are to the first of those pods
    standings: tuple[NodeStanding, ...]  # the same, node by node


def turns_of(cycle: KaiCycle, job: WorkloadName) -> list[int]:
    """Let *cycle* happen and return the numbers of the turns that *job* has in it, from 1.

    Its state must be on trial.
    """
    turns: list[WorkloadName] = []
    cycle.decisions(turns.append)
    return [number for number, name in enumerate(turns, start=1) if name == job]


class JobWatch:
    """Listens to a cycle, turn by turn, decision by decision."""

    def __init__(self, cycle: KaiCycle, job: WorkloadName, turns: Sequence[int]) -> None:
        """Watch for *job*, which will have these *turns* in *cycle*."""
        self.before: list[TurnBefore] = []
        self.own: OwnTurn | None = None
        self.decisions: list[Decision] = []
        self.victims: list[Evict | Move] = []  # what others do for its sake
        self._cycle = cycle
        self._job = job
        self._turn_number = 0
        self._last = max(turns, default=0)

    def run(self) -> None:
        """Let the cycle happen; its state must be on trial."""
        for decision in self._cycle.decisions(self._turn):
            if decision.workload == self._job:
                self.decisions.append(decision)
            elif isinstance(decision, Evict | Move) and decision.beneficiary == self._job:
                self.victims.append(decision)

    def _turn(self, job: WorkloadName) -> None:
        self._turn_number += 1
        if self._turn_number == self._last:
            self.own = self._weighed()
        elif self._turn_number < self._last and job != self._job:
            self.before.append(
                TurnBefore(
                    turn=self._turn_number,
                    workload=job,
                    queue=self._cycle.state.workloads[job].queue,
                    why=why_before(self._cycle, job, self._job),
                )
            )

    def _weighed(self) -> OwnTurn:
        state, finder = self._cycle.state, self._cycle.context.finder
        workload = state.workloads[self._job]
        pods = self._cycle.jobs.next_pods(self._job)
        first = workload.pod_sets.set_index[pods[0]]
        return OwnTurn(
            turn=self._turn_number,
            pods=tuple(workload.pod_name(pod) for pod in pods),
            gates=tuple(self._gates()),
            nodes=finder.tallies(workload, first),
            standings=node_standings(state, finder, workload, first),
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
                    fair_share=cycle.context.shares[name].fair_share[at],
                    is_within_limit=limit is None or sums.allocated[at] + more <= limit,
                    is_within_quota=None if workload.preemptible else fits_quota,
                )
