"""The bounds of one search for victims, put together from room, losses and candidates per node."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TypeAlias

from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.pruning.evictable_per_node import (
    EvictableOnNode,
    EvictablePerNode,
    UsefulNodes,
)
from fairlead.policy.kai.pruning.losses import LossBound
from fairlead.policy.kai.pruning.room import EvictedPod, PlaceBalance, RoomBound
from fairlead.policy.kai.victims.attempt import Attempt
from fairlead.policy.kai.victims.candidates import EligibleCandidates, VictimGroup
from fairlead.policy.kai.victims.steps import Freed, FreedByNode, Lacking

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
