"""How many pods of a preemptor can find a place at most if all victims are only moved.

Consolidation fails nearly always, and a failed search makes many scenarios: the victims make room,
take it again, and one is left over. A pod that requests twice as much takes two places from pods
like the preemptor's, wherever it goes. So of the places that exist when all have left, those are
subtracted that the victims take again. The rest is an upper bound, whichever of them leave: each
one that stays removes at least as many places as it would take. The same holds for places of the
size of any victim, of which the preemptor's pods take theirs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import add
from typing import NamedTuple

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.pruning.room import needs_of, times
from fairlead.policy.kai.victims.candidates import Candidate


class MovablePod(NamedTuple):
    """A pod that could move."""

    node: str
    freed: Amounts  # what its node gains at most
    asked: Amounts  # what it needs elsewhere at least


class MoveBound:
    """Counts places on the nodes of one state for preemptors that all move the same jobs."""

    def __init__(self, rooms: Mapping[str, NodeRoom], pods: Iterable[MovablePod] | None) -> None:
        """Read the nodes that are ready, and all *pods* that could move at once.

        None: these are not certain, so nothing is denied.
        """
        self._rooms = rooms
        self._is_certain = pods is not None
        self._free: dict[str, Sequence[int]] = {}  # where somebody leaves, once all have
        self._asked: Counter[Amounts] = Counter()  # how many of them ask for that
        for node, freed, asked in pods or ():
            room = rooms.get(node)
            if room is not None:  # else nothing is gained there, and a pod may take its place again
                self._free[node] = tuple(map(add, self._free.get(node, room.later), freed))
                self._asked[asked] += 1
        self._known: dict[tuple[tuple[Amounts, ...], Set[str]], bool] = {}

    def allows(self, sizes: Sequence[Amounts], base: Set[str]) -> bool:
        """Return whether pods of *sizes* may all fit on the *base* nodes and those of victims.

        Law: if not, no search can succeed in which no pod may lose its place. Cost: a look at each
        node for each requested size, once for the same sizes and nodes.
        """
        if not self._is_certain:
            return True
        key = tuple(sorted(sizes)), frozenset(base)
        if key not in self._known:
            asked = Counter(sizes)  # first: these nearly always fail
            asked.update(self._asked)
            self._known[key] = all(self._has_places(size, asked, base) for size in asked)
        return self._known[key]

    def _has_places(self, size: Amounts, asked: Counter[Amounts], base: Set[str]) -> bool:
        needs = needs_of(size)
        if not needs:
            return True
        wanted = sum([times(each, needs) * count for each, count in asked.items()])
        places = 0
        for free in self._all_free(base):
            places += times(free, needs)
            if places >= wanted:
                return True
        return False

    def _all_free(self, base: Set[str]) -> Iterable[Sequence[int]]:
        """Yield what is free on every node where a preemptor may look, once all have left."""
        yield from self._free.values()
        for node in base:
            if node not in self._free and node in self._rooms:
                yield self._rooms[node].later


class MoveBounds:
    """The bound for consolidation in one state, kept while nodes and victims are the same."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        """Count nothing yet."""
        self._state = state
        self._finder = finder
        self._known: tuple[int, Sequence[Candidate], MoveBound] | None = None
        self._pods: dict[WorkloadName, tuple[Candidate, Sequence[MovablePod] | None]] = {}

    def bound(self, first: Sequence[Candidate]) -> MoveBound:
        """Return the bound for now, if these are the *first* victims, the same for all preemptors.

        Law: it equals a new one, as long as the same list has the same content. Cost: the pods of
        the victims, if they or the room of any node changed.
        """
        version = self._finder.version()
        known = self._known
        if known is None or known[0] != version or known[1] is not first:
            bound = MoveBound(self._finder.rooms(), self._all_pods(first))
            known = self._known = version, first, bound
        return known[2]

    def _all_pods(self, first: Iterable[Candidate]) -> list[MovablePod] | None:
        """Return all pods of the first victims.

        None where a job gives up one pod after the other: the further victims depend on how far it
        goes.
        """
        pods: list[MovablePod] = []
        for candidate in first:
            known = self._pods.get(candidate.job)
            if known is None or known[0] is not candidate:
                if len(self._pods) > 2 * len(self._state.workloads):  # most of them have departed
                    self._pods.clear()
                known = self._pods[candidate.job] = candidate, self._pods_of(candidate)
            if known[1] is None:
                return None
            pods += known[1]
        return pods

    def _pods_of(self, candidate: Candidate) -> list[MovablePod] | None:
        """Return the pods of a victim; None: it gives up one after the other."""
        if len(candidate.evicted_first()) < len(candidate.pods):
            return None
        finder, sets = self._finder, self._state.workloads[candidate.job].pod_sets
        placed = [(sets.of(pod), node) for pod, node in candidate.nodes.items()]
        return [
            MovablePod(node, finder.at_most_freed(held), finder.besides_shares(held))
            for held, node in placed
            if node is not None
        ]
