"""The bounds of one search for victims: room, losses, and candidates per node.

Losses: what a preemptor gets and is not idle, others lose; a pod that is only moved takes as much
again. The same holds for places of its size, of which there are few where idle GPUs are fragmented
(see `PlaceBalance`). The judge lets a queue lose no more than leaves it fuller than the preemptor's
side. So a scenario fails for certain if less may be lost than is lacking: either the preemptor
finds no place, or it does and the judge refuses. Most scenarios of a large search that fails are
like that: they have a victim too many for the judge, and all later victims only get their own
places back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.pruning.evictable_per_node import (
    EvictableOnNode,
    EvictablePerNode,
    UsefulNodes,
)
from fairlead.policy.kai.pruning.room import EvictedPod, PlaceBalance, RoomBound
from fairlead.policy.kai.reclaimable.judge import ReclaimJudge, Sides
from fairlead.policy.kai.victims.attempt import Attempt
from fairlead.policy.kai.victims.candidates import EligibleCandidates, VictimGroup
from fairlead.policy.kai.victims.steps import Freed, FreedByNode, Lacking


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

    def allows(self, evicted: Sequence[VictimGroup]) -> bool:
        """Return whether a scenario that evicts *evicted* may stand.

        Law: if not, it fails. Cost: the groups, each looked at once in the life of the bound.
        """
        if self._lacking > self._held_by_losers(evicted):
            return False
        short = self._balance.short(self._count, evicted)
        if self._lacking <= 0 and max(short, default=0) <= 0:
            return True
        levels: dict[int, dict[QueueName, _Pieces]] = {}
        for group in evicted:
            pieces = self._pieces(group)
            if pieces is None:
                return True
            there = levels.setdefault(pieces.sides.level, {})
            known = there.get(pieces.sides.victim)
            there[pieces.sides.victim] = pieces if known is None else known.joined_by(pieces)
        lost = 0  # at most, by the queues beneath the reclaimer's side of a level
        for level in sorted(levels):
            lost += sum([self._at_most(each, lost, short) for each in levels[level].values()])
        return lost >= self._lacking and max(short, default=0) <= 0

    def _held_by_losers(self, evicted: Sequence[VictimGroup]) -> int:
        """Return what those of *evicted* hold that may lose anything: no more is lost.

        Cost: a glance at each pod, so it is checked first.
        """
        held = 0
        for group in evicted:
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


MayStand: TypeAlias = Callable[[Sequence[VictimGroup]], bool]


class RoomBounds:
    """Leaves out the scenarios without room for the preemptor, and no others.

    These are never explained, so this bound also holds for attempts that are.
    """

    asks_nodes_first = False

    def __init__(self, attempt: Attempt) -> None:
        """Bound the search of *attempt*."""
        self._attempt = attempt
        self._state: ClusterState = attempt.context.state
        self._finder: NodeFinder = attempt.context.finder

    def begin(self, pods: Sequence[PodId], base: Set[str]) -> None:
        """Begin a search for *pods*; *base* are the nodes open to them without victims."""
        sets = self._attempt.workload.pod_sets
        self._base = base
        self._sizes = [self._finder.besides_shares(sets.of(pod)) for pod in pods]
        self._room = RoomBound(self._sizes, self._finder.rooms(), base)

    def prepare(self, pods: Sequence[PodId]) -> None:
        """Nothing to prepare."""

    def learn(self, nodes: Iterable[str]) -> None:
        """Read the room of *nodes*, while the state is as at the start."""
        self._room.learn(self._finder.rooms(), nodes)

    def freed(self, group: VictimGroup) -> Freed:
        """Return what the pods of a group set free at most, with the node of each."""
        pods = evicted_pods(self._state, self._finder, group)
        return [(each.node, each.freed) for each in pods if each is not None]

    def keep(self, added: Iterable[VictimGroup], removed: Iterable[VictimGroup]) -> None:
        """Note which victims are kept from now on, and which no more."""
        for group in removed:
            self._room.unkeep(self.freed(group))
        for group in added:
            self._room.keep(self.freed(group))

    def of_prefix(self, pods: Sequence[PodId], kept: Sequence[VictimGroup]) -> "PrefixRoom":
        """Return the bounds for the first *pods* with *kept* victims."""
        return PrefixRoom(self._room, len(pods))


class PrefixRoom:
    """The room bound for the first pods of a preemptor."""

    def __init__(self, room: RoomBound, count: int) -> None:
        """Bound scenarios for the first *count* pods with the victims kept now."""
        self._room = room
        self.lacking: Lacking = room.lacking(count)

    def may_fit(self, freed: FreedByNode) -> bool:
        """Return whether there may be room when this is set free as well."""
        return self._room.allows(self.lacking, freed)

    def may_stand(self, evicted: Sequence[VictimGroup]) -> bool:
        """Return that it may."""
        return True

    def may_any_node_help(self) -> bool:
        """Return that one may."""
        return True

    def may_help(self, nodes: Iterable[str]) -> bool:
        """Return that one may."""
        return True

    def helpful_pods(self) -> Sequence[PodKey] | None:
        """Return that it is not known."""
        return None


class AllBounds(RoomBounds):
    """Leaves out every scenario that plainly finds no room or may not stand."""

    def __init__(
        self,
        attempt: Attempt,
        per_node: EvictablePerNode,
        candidates: EligibleCandidates,
        *,
        asks_nodes_first: bool,
    ) -> None:
        """Bound the search of *attempt* among *candidates*."""
        super().__init__(attempt)
        self.asks_nodes_first = asks_nodes_first
        self._per_node = per_node
        self._candidates = candidates
        self._may_stand: dict[int, MayStand] = {}  # by the number of pods

    def begin(self, pods: Sequence[PodId], base: Set[str]) -> None:
        """Begin a search for *pods*; *base* are the nodes open to them without victims."""
        super().begin(pods, base)
        evicted = partial(evicted_pods, self._state, self._finder)
        self._balance = PlaceBalance(self._sizes, self._finder.rooms(), base, evicted)

    def prepare(self, pods: Sequence[PodId]) -> None:
        """Prepare for the first *pods*, while the state is as at the start."""
        self._may_stand[len(pods)] = stand_bound(self._attempt, pods, self._balance)

    def of_prefix(self, pods: Sequence[PodId], kept: Sequence[VictimGroup]) -> "PrefixRoom":
        """Return the bounds for the first *pods* with *kept* victims."""
        return _PrefixBounds(
            self._room, len(pods), kept, self._may_stand[len(pods)], lambda: self._evictable
        )

    @cached_property
    def _evictable(self) -> Mapping[str, EvictableOnNode]:
        """The candidates of each node, when the state was as at the start."""
        leaves = [leaf for leaf, _ in self._attempt.filters()]
        found = self._per_node.of((leaf, self._candidates.of(leaf)) for leaf in leaves)
        self.learn(found)
        return found


class _PrefixBounds(PrefixRoom):
    """All bounds for the first pods of a preemptor."""

    def __init__(
        self,
        room: RoomBound,
        count: int,
        kept: Sequence[VictimGroup],
        may_stand: MayStand,
        evictable: Callable[[], Mapping[str, EvictableOnNode]],
    ) -> None:
        super().__init__(room, count)
        self._kept = kept
        self._is_standing = may_stand
        self._nodes = UsefulNodes(evictable, self._may_evicting_help)

    def may_stand(self, evicted: Sequence[VictimGroup]) -> bool:
        return self._is_standing(evicted)

    def may_any_node_help(self) -> bool:
        return self._nodes.is_any()

    def may_help(self, nodes: Iterable[str]) -> bool:
        return self._nodes.is_any_of(nodes)

    def helpful_pods(self) -> Sequence[PodKey]:
        return self._nodes.pods()

    def _may_evicting_help(self, evictable: EvictableOnNode) -> bool:
        if not self.may_fit(evictable.freed()):
            return False
        return self._is_standing((*self._kept, *evictable.groups()))


def stand_bound(attempt: Attempt, pods: Sequence[PodId], balance: PlaceBalance) -> MayStand:
    """Return what says of scenarios for the first *pods* whether they may stand."""
    context, sets = attempt.context, attempt.workload.pod_sets
    if attempt.action == "consolidation":
        return lambda evicted: max(balance.short(len(pods), evicted), default=0) <= 0
    gpu = context.state.axes.index("gpu")
    if attempt.action != "reclaim" or gpu is None:
        return _always
    if any(sets.of(pod).gpu_share for pod in pods):
        return _always  # a pending part of a device may count for more than it takes
    return LossBound(
        attempt.judge_for(pods),
        gpu,
        context.gpu_later(),
        context.state.workloads,
        context.gang,
        balance,
        len(pods),
    ).allows


def evicted_pods(
    state: ClusterState, finder: NodeFinder, group: VictimGroup
) -> list[EvictedPod | None]:
    """Return the pods of a group with what they free and need; None: it is on no node."""
    sets = state.workloads[group.job].pod_sets
    held = [(group.nodes[pod], sets.of(pod)) for pod in group.pods]
    return [
        None
        if node is None
        else EvictedPod(node, finder.at_most_freed(each), finder.besides_shares(each))
        for node, each in held
    ]


def _always(_evicted: Sequence[VictimGroup]) -> bool:
    return True
