"""How many GPUs the victims of a scenario can lose at most, so that the judge of reclaim agrees.

What a preemptor gets and is not idle, others lose; a pod that is only moved takes as much again.
The same holds for places of its size, of which there are few where idle GPUs are fragmented (see
`PlaceBalance`). The judge lets a queue lose no more than leaves it fuller than the preemptor's
side. So a scenario fails for certain if less may be lost than is lacking: either the preemptor
finds no place, or it does and the judge refuses. Most scenarios of a large search that fails are
like that: they have a victim too many for the judge, and all later victims only get their own
places back.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.pruning.room import PlaceBalance
from fairlead.policy.kai.reclaimable.judge import ReclaimJudge, Sides
from fairlead.policy.kai.victims.candidates import VictimGroup


class Piece(NamedTuple):
    """What is lost in full or not at all: thousandths of GPUs, and places of each size."""

    gpus: int
    places: tuple[int, ...]
    cost: Amounts  # of its queue


class _Pieces(NamedTuple):
    """What the groups beneath one side may lose."""

    sides: Sides
    pieces: list[Piece]
    largest: int  # what a job holds of GPUs: no loss is larger

    def joined_by(self, other: "_Pieces") -> "_Pieces":
        """Return what both may lose, beneath the same side."""
        largest = max(self.largest, other.largest)
        return _Pieces(self.sides, self.pieces + other.pieces, largest)


class LossBound:
    """Counts what may be lost for the first pods of a preemptor, in one search."""

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

        *judge* is that of the first *count* pods, *balance* that of their places.
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
        self._may_lose: dict[QueueName, bool] = {}

    def allows(self, asked: Sequence[VictimGroup]) -> bool:
        """Return whether a scenario that evicts *asked* may stand.

        Law: if not, it fails. Cost: the groups, each looked at once in the life of the bound.
        """
        if self._lacking > self._held_by_losers(asked):
            return False
        short = self._balance.short(self._count, asked)
        if self._lacking <= 0 and max(short, default=0) <= 0:
            return True
        levels: dict[int, dict[QueueName, _Pieces]] = {}
        for group in asked:
            pieces = self._pieces(group)
            if pieces is None:
                return True
            there = levels.setdefault(pieces.sides.level, {})
            known = there.get(pieces.sides.victim)
            there[pieces.sides.victim] = pieces if known is None else known.joined_by(pieces)
        lost = 0  # at most, by the queues beneath the claimant's side of a level
        for level in sorted(levels):
            lost += sum([self._at_most(each, lost, short) for each in levels[level].values()])
        return lost >= self._lacking and max(short, default=0) <= 0

    def _held_by_losers(self, asked: Sequence[VictimGroup]) -> int:
        """Return what those of *asked* hold that may lose anything: no more is lost.

        Cost: a glance at each pod, so it is checked first.
        """
        held = 0
        for group in asked:
            workload = self._workloads[group.job]
            queue = workload.queue
            if queue not in self._may_lose:
                self._may_lose[queue] = self._judge.may_lose(queue)
            if self._may_lose[queue]:
                if any(each.gpu_share for each in workload.pod_sets):
                    return self._lacking  # some of it may set more free than it costs its queue
                held += sum([group.costs[pod][self._gpu] for pod in group.pods])
        return held

    def _at_most(self, side: _Pieces, below: int, short: list[int]) -> int:
        """Return how much one side may lose at most, and take the places of that off *short*."""
        most = self._judge.may_lose_at_most(side.sides, self._gpu, below)
        costs = [piece.cost for piece in side.pieces]
        before_last = self._judge.may_lose_before_last(side.sides, self._gpu, costs)
        if before_last is not None:
            most = min(most, before_last + side.largest)
        lost = [piece for piece in side.pieces if piece.gpus <= most]
        for at, gpus in enumerate(self._gpus_of_places):
            places = sum([piece.places[at] for piece in lost])
            short[at] -= min(places, most // gpus) if gpus else places
        return min(most, sum([piece.gpus for piece in lost]))

    def _pieces(self, group: VictimGroup) -> _Pieces | None:
        key = group.job, group.pods
        if key not in self._known:
            self._known[key] = self._cut(group)
        return self._known[key]

    def _cut(self, group: VictimGroup) -> _Pieces | None:
        """Cut a group into pieces; None: some of it may free more than it costs its queue."""
        workload = self._workloads[group.job]
        if any(workload.pod_sets.of(pod).gpu_share for pod in group.pods):
            return None
        gpu, taken = self._gpu, self._balance.taken(group)
        costs = [group.costs[pod] for pod in group.pods]
        pieces = [Piece(cost[gpu], places, cost) for cost, places in zip(costs, taken, strict=True)]
        if len(costs) == workload.pod_count() == len(self._gang_of(group.job).next_pods(None)):
            places, cost = _sum(taken), _sum(costs)
            pieces = [Piece(cost[gpu], places, cost)]  # all of its pods find a place again, or none
        largest = sum([cost[gpu] for cost in group.costs.values()])
        return _Pieces(self._judge.sides(workload.queue), pieces, largest)


def _sum(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return rows[0] if len(rows) == 1 else tuple(map(sum, zip(*rows, strict=True)))
