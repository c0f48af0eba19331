"""How many GPUs those who leave in a try could lose at most, so that the judge of reclaim agrees.

What a claimant gets and is not idle, somebody has to lose; who is only moved takes as much again.
The same holds of places for pods of its size, of which there are few where idle GPUs lie about in
pieces (`place_balance`). The judge lets a queue lose no more than leaves it fuller than the
claimant's side. So a try fails for certain if what may be lost is less than what is lacking: either
the claimant finds no place, or it does and the judge refuses. Most tries of a large search that
fails are of that kind: they have a victim too many for the judge, and all who come after it only
get their own places back.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.place_balance import PlaceBalance
from fairlead.policy.kai.reclaim_judge import ReclaimJudge, Sides
from fairlead.policy.kai.victim_steps import Group


class Piece(NamedTuple):
    """What is lost in full or not at all: in thousandths of GPUs, and in places of each size."""

    gpus: int
    places: tuple[int, ...]


class _Pieces(NamedTuple):
    """What may be lost of groups beneath one side."""

    sides: Sides
    pieces: list[Piece]


class LossBound:
    """Counts what may be lost for the first pods of a claimant, in one search."""

    def __init__(
        self,
        judge: ReclaimJudge,
        gpu: int,
        idle: int,
        workloads: Mapping[WorkloadName, Workload],
        gang_of: Callable[[WorkloadName], Gang],
        balance: PlaceBalance,
        count: int,
    ) -> None:
        """Count on the axis *gpu*; *idle* is what is free on all nodes, or will be.

        *judge* is that of what is lost for the first *count* pods, *balance* that of their places.
        """
        self._judge = judge
        self._gpu = gpu
        self._lacking = judge.reclaimer.request[gpu] - idle
        self._workloads = workloads
        self._gang_of = gang_of
        self._balance = balance
        self._count = count
        axes, resources = judge.state.axes, judge.state.resources
        self._gpus_of_places = [axes.charge(resources, size)[gpu] for size in balance.sizes]
        self._known: dict[tuple[WorkloadName, tuple[PodId, ...]], _Pieces | None] = {}

    def allows(self, asked: Sequence[Group]) -> bool:
        """Return whether a try may stand in which *asked* leave.

        Law: if not, it fails. Cost: the groups, each looked at once in the life of the bound.
        """
        short = self._balance.short(self._count, asked)
        if self._lacking <= 0 and max(short, default=0) <= 0:
            return True
        levels: dict[int, dict[QueueName, _Pieces]] = {}
        for group in asked:
            pieces = self._pieces(group)
            if pieces is None:
                return True
            there = levels.setdefault(pieces.sides.level, {})
            known = there.setdefault(pieces.sides.victim, _Pieces(pieces.sides, []))
            known.pieces.extend(pieces.pieces)
        lost = 0  # at most, by the queues beneath the claimant's side of a level
        for level in sorted(levels):
            lost += sum([self._at_most(each, lost, short) for each in levels[level].values()])
        return lost >= self._lacking and max(short, default=0) <= 0

    def _at_most(self, side: _Pieces, below: int, short: list[int]) -> int:
        """Return how much one side may lose at most, and take the places of that off *short*."""
        most = self._judge.may_lose_at_most(side.sides, self._gpu, below)
        lost = [piece for piece in side.pieces if piece.gpus <= most]
        for at, gpus in enumerate(self._gpus_of_places):
            places = sum([piece.places[at] for piece in lost])
            short[at] -= min(places, most // gpus) if gpus else places
        return min(most, sum([piece.gpus for piece in lost]))

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
        costs = [group.costs[pod][self._gpu] for pod in group.pods]
        pieces = list(map(Piece, costs, self._balance.taken(group)))
        if len(costs) == workload.pod_count() == len(self._gang_of(group.job).next_pods(None)):
            places = tuple(map(sum, zip(*self._balance.taken(group), strict=True)))
            pieces = [Piece(sum(costs), places)]  # all of its pods find a place again, or none
        return _Pieces(self._judge.sides(workload.queue), pieces)
