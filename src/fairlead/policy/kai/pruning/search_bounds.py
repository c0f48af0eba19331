"""The bounds of one search for victims, by room."""

from collections.abc import Iterable, Sequence, Set

from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.pruning.room import RoomBound
from fairlead.policy.kai.victims.attempt import Attempt
from fairlead.policy.kai.victims.candidates import VictimGroup
from fairlead.policy.kai.victims.steps import Freed, FreedByNode, Lacking


class RoomBounds:
    """Leaves out the scenarios without room for the preemptor, and no others.

    These are never explained, so this bound also holds for attempts that are.
    """

    def __init__(self, attempt: Attempt) -> None:
        """Bound the search of *attempt*."""
        self._attempt = attempt
        self._state: ClusterState = attempt.context.state
        self._finder: NodeFinder = attempt.context.finder

    def begin(self, pods: Sequence[PodId], base: Set[str]) -> None:
        """Begin a search for *pods*; *base* are the nodes open to them without victims."""
        sets = self._attempt.workload.pod_sets
        sizes = [self._finder.besides_shares(sets.of(pod)) for pod in pods]
        self._room = RoomBound(sizes, self._finder.rooms(), base)

    def learn(self, nodes: Iterable[str]) -> None:
        """Read the room of *nodes*, while the state is as at the start."""
        self._room.learn(self._finder.rooms(), nodes)

    def freed(self, group: VictimGroup) -> Freed:
        """Return what the pods of a group set free at most, with the node of each."""
        return freed_by(self._state, self._finder, group)

    def keep(self, added: Iterable[VictimGroup], removed: Iterable[VictimGroup]) -> None:
        """Note which victims are kept from now on, and which no more."""
        for group in removed:
            self._room.unkeep(self.freed(group))
        for group in added:
            self._room.keep(self.freed(group))

    def of_prefix(self, pods: Sequence[PodId]) -> "PrefixRoom":
        """Return the bounds for the first *pods* with the victims kept now."""
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


def freed_by(state: ClusterState, finder: NodeFinder, group: VictimGroup) -> Freed:
    """Return what the pods of a group set free at most, with the node of each."""
    sets = state.workloads[group.job].pod_sets
    held = [(group.nodes[pod], sets.of(pod)) for pod in group.pods]
    return [(node, finder.at_most_freed(each)) for node, each in held if node is not None]
