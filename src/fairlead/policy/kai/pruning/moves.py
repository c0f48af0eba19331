"""How many pods of a claimant could find a place at most, if all who leave for it are to stay.

Consolidation fails nearly always, and a failed search makes many tries: whoever leaves makes room,
takes it again, and somebody is left over. A pod that asks for twice as much takes two places from
pods like the claimant's, wherever it goes. So of the places that are there when all have left,
those are taken off that the leavers take again. What is left is an upper bound, whoever of them
leaves: for each one that stays, there are at least as many places less as it would take. The same
holds of places for pods like any of the leavers, from which the claimant's take theirs.
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


class Leaver(NamedTuple):
    """A pod that could move."""

    node: str
    freed: Amounts  # what its node gains at most
    asked: Amounts  # what it needs elsewhere at least


class MoveBound:
    """Counts places on the nodes of one state for claimants that all ask the same jobs to move."""

    def __init__(
        self, rooms: Mapping[str, NodeRoom], evicted_pods: Iterable[Leaver] | None
    ) -> None:
        """Take in the nodes that are ready, and everybody who could move at once.

        None: who could is not certain, so nothing is denied.
        """
        self._rooms = rooms
        self._is_certain = evicted_pods is not None
        self._free: dict[str, Sequence[int]] = {}  # where somebody leaves, once all have
        self._asked: Counter[Amounts] = Counter()  # how many of them ask for that
        for node, freed, asked in evicted_pods or ():
            room = rooms.get(node)
            if room is not None:  # else nothing is won there, and who leaves may take its place
                self._free[node] = tuple(map(add, self._free.get(node, room.later), freed))
                self._asked[asked] += 1
        self._known: dict[tuple[tuple[Amounts, ...], Set[str]], bool] = {}

    def allows(self, sizes: Sequence[Amounts], base: Set[str]) -> bool:
        """Return whether pods that ask for *sizes* may all find places on these nodes and those.

        Law: if not, no search can succeed in which nobody may lose a place. Cost: a look at each
        node for each size that anybody asks for, once for the same sizes and nodes.
        """
        if not self._is_certain:
            return True
        key = tuple(sorted(sizes)), frozenset(base)
        if key not in self._known:
            asked = Counter(sizes)  # first: these are the ones that nearly always fail
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
        """Yield what is free on every node where a claimant may look, once all have left."""
        yield from self._free.values()
        for node in base:
            if node not in self._free and node in self._rooms:
                yield self._rooms[node].later


class MoveBounds:
    """The bound for consolidation in one state, kept while nodes and leavers are as they were."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        """Count nothing yet."""
        self._state = state
        self._finder = finder
        self._known: tuple[int, Sequence[Candidate], MoveBound] | None = None
        self._evicted_pods: dict[WorkloadName, tuple[Candidate, Sequence[Leaver] | None]] = {}

    def bound(self, first: Sequence[Candidate]) -> MoveBound:
        """Return the bound for now, if these are the *first* to leave, the same for all claimants.

        Law: it is a new one's, as long as the same list has the same in it. Cost: the pods of those
        who leave, if they or the room on any node changed.
        """
        version = self._finder.version()
        known = self._known
        if known is None or known[0] != version or known[1] is not first:
            bound = MoveBound(self._finder.rooms(), self._all_leavers(first))
            known = self._known = version, first, bound
        return known[2]

    def _all_leavers(self, first: Iterable[Candidate]) -> list[Leaver] | None:
        """Return all pods of those who leave first.

        None where some give up one pod after the other: whom else it asks depends on how far.
        """
        evicted_pods: list[Leaver] = []
        for candidate in first:
            known = self._evicted_pods.get(candidate.job)
            if known is None or known[0] is not candidate:
                if len(self._evicted_pods) > 2 * len(
                    self._state.workloads
                ):  # most of them have gone
                    self._evicted_pods.clear()
                known = self._evicted_pods[candidate.job] = candidate, self._leavers_of(candidate)
            if known[1] is None:
                return None
            evicted_pods += known[1]
        return evicted_pods

    def _leavers_of(self, candidate: Candidate) -> list[Leaver] | None:
        """Return the pods of a job that leaves; None: it gives up one after the other."""
        if len(candidate.evicted_first()) < len(candidate.pods):
            return None
        finder, sets = self._finder, self._state.workloads[candidate.job].pod_sets
        placed = [(sets.of(pod), node) for pod, node in candidate.nodes.items()]
        return [
            Leaver(node, finder.at_most_freed(held), finder.besides_shares(held))
            for held, node in placed
            if node is not None
        ]
