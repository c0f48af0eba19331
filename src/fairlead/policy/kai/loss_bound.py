"""How many GPUs those who leave in a try could lose at most, so that the judge of reclaim agrees.

What a claimant gets and is not idle, somebody has to lose; who is only moved takes as much again.
The judge lets a queue lose no more than leaves it fuller than the claimant's side. So a try fails
for certain if what may be lost is less than what is lacking: either the claimant finds no place, or
it does and the judge refuses. Most tries of a large search that fails are of that kind: they have a
victim too many for the judge, and all who come after it only get their own places back.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.reclaim_judge import ReclaimJudge, Sides
from fairlead.policy.kai.victim_steps import Group


class _Pieces(NamedTuple):
    """What a group may lose, each piece in full or not at all, in thousandths of GPUs."""

    sides: Sides
    gpus: list[int]


class LossBound:
    """Counts what may be lost for the first pods of a claimant, in one search."""

    def __init__(
        self,
        judge: ReclaimJudge,
        gpu: int,
        idle: int,
        workloads: Mapping[WorkloadName, Workload],
        gang_of: Callable[[WorkloadName], Gang],
    ) -> None:
        """Count on the axis *gpu*; *idle* is what is free on all nodes, or will be.

        *judge* is that of what is lost for these pods.
        """
        self._judge = judge
        self._gpu = gpu
        self._lacking = judge.reclaimer.request[gpu] - idle
        self._workloads = workloads
        self._gang_of = gang_of
        self._known: dict[tuple[WorkloadName, tuple[PodId, ...]], _Pieces | None] = {}

    def allows(self, asked: Sequence[Group]) -> bool:
        """Return whether a try may stand in which *asked* leave.

        Law: if not, it fails. Cost: the groups, each looked at once in the life of the bound.
        """
        if self._lacking <= 0:
            return True
        levels: dict[int, dict[QueueName, _Pieces]] = {}
        for group in asked:
            pieces = self._pieces(group)
            if pieces is None:
                return True
            there = levels.setdefault(pieces.sides.level, {})
            known = there.setdefault(pieces.sides.victim, _Pieces(pieces.sides, []))
            known.gpus.extend(pieces.gpus)
        lost = 0  # at most, by the queues beneath the claimant's side of a level
        for level in sorted(levels):
            lost += sum([self._at_most(pieces, lost) for pieces in levels[level].values()])
        return lost >= self._lacking

    def _at_most(self, pieces: _Pieces, below: int) -> int:
        most = self._judge.may_lose_at_most(pieces.sides, self._gpu, below)
        return min(most, sum([gpus for gpus in pieces.gpus if gpus <= most]))

    def _pieces(self, group: Group) -> _Pieces | None:
        key = group.job, group.pods
        if key not in self._known:
            self._known[key] = self._cut(group)
        return self._known[key]

    def _cut(self, group: Group) -> _Pieces | None:
        """Cut a group into pieces; None: some of it may set more free than it costs its queue."""
        workload = self._workloads[group.job]
        if any(workload.pod_sets[pod.pod_set].gpu_share for pod in group.pods):
            return None
        gpus = [group.costs[pod][self._gpu] for pod in group.pods]
        if len(gpus) == workload.pod_count() == len(self._gang_of(group.job).next_pods(None)):
            gpus = [sum(gpus)]  # all of its pods find a place again, or none
        return _Pieces(self._judge.sides(workload.queue), gpus)
