"""Upper bounds on the places that a scenario can have, by amounts only.

A scenario places victims and preemptor again, which takes milliseconds; most scenarios of a large
search fail for want of room. Placing only takes room, so if even the emptied nodes have too little,
a scenario cannot succeed. The bounds take every freed part of a device for a whole one: they may
allow too much, and never too little. Without them a gang that reclaims 50 of 500 nodes takes more
than 8 times as long.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import add, sub
from typing import TypeAlias

from fairlead.model.axes import Amounts
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.victims.solver import Freed, Lacking


class RoomBound:
    """Counts places for the first pods of a preemptor on the nodes of one search.

    A node has places where the preemptor may look: on the *base* nodes, and where victims leave.
    """

    def __init__(
        self, sizes: Sequence[Amounts], rooms: Mapping[str, NodeRoom], base: Iterable[str]
    ) -> None:
        """Count for pods of these *sizes*, in their order. Cost: the base nodes."""
        self._sizes = list(dict.fromkeys(sizes))
        self._asked = sizes
        self._later: dict[str, Amounts | None] = {}
        self._kept: dict[str, Sequence[int]] = {}
        self._evicted_pods: Counter[str] = Counter()  # how many pods set that free
        self._base = frozenset(base)
        self._places: dict[str, list[int]] = {}  # on base nodes, and where kept victims leave
        self._totals = [0] * len(self._sizes)
        self.learn(rooms, self._base)
        for node in self._base:
            self._count(node)

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Read what is free on *nodes* when the search begins, before they are asked about."""
        for node in nodes:
            if node not in self._later:
                room = rooms.get(node)  # None: not ready, or gone
                self._later[node] = None if room is None else room.later

    def keep(self, freed: Freed) -> None:
        """Note that more pods have left from now on."""
        for node, amounts in freed:
            before = self._kept.get(node)
            self._kept[node] = amounts if before is None else tuple(map(add, before, amounts))
            self._evicted_pods[node] += 1
            self._count(node)

    def unkeep(self, freed: Freed) -> None:
        """Note that pods are back where they were: the inverse of `keep`."""
        for node, amounts in freed:
            self._kept[node] = tuple(map(sub, self._kept[node], amounts))
            self._evicted_pods[node] -= 1
            if not self._evicted_pods[node]:
                del self._kept[node]
            self._count(node)

    def lacking(self, count: int) -> Lacking:
        """Return how many places the first *count* pods lack, with the kept victims."""
        asked = self._asked[:count]
        totals = zip(self._sizes, self._totals, strict=True)
        return tuple([asked.count(size) - total for size, total in totals])

    def allows(self, need: Lacking, more: Mapping[str, Sequence[int]]) -> bool:
        """Return whether there may be as many places as are *lacking* when *more* is set free.

        Law: with as much or more lacking, and all else the same, it is denied again.
        """
        for at, lacking in enumerate(need):
            for node, amounts in more.items():
                if lacking <= 0:
                    break
                kept = self._kept.get(node)
                free = amounts if kept is None else tuple(map(add, amounts, kept))
                before = self._places.get(node)
                lacking -= self._fitting(node, free, at) - (before[at] if before else 0)
            if lacking > 0:
                return False
        return True

    def _count(self, node: str) -> None:
        """Count the places on a node anew."""
        before = self._places.pop(node, None)
        free = self._kept.get(node)
        if free is not None or node in self._base:
            after = [self._fitting(node, free, at) for at in range(len(self._sizes))]
            self._places[node] = after
            self._totals = list(map(add, self._totals, after))
        if before is not None:
            self._totals = [total - less for total, less in zip(self._totals, before, strict=True)]

    def _fitting(self, node: str, free: Sequence[int] | None, at: int) -> int:
        """Return how many of a size fit a node that has *free* more than at the start."""
        later = self._later[node]
        if later is None:
            return 0
        there = later if free is None else map(add, later, free)
        most = len(self._asked)  # more than that is as good
        for amount, need in zip(there, self._sizes[at], strict=True):
            if need and amount < need * most:
                most = amount // need
        return most


Needs: TypeAlias = Sequence[tuple[int, int]]
"""The nonzero requests of a pod, each with its position among the amounts."""


def needs_of(size: Amounts) -> Needs:
    """Return the nonzero requests of a pod, each with its position."""
    return [(at, amount) for at, amount in enumerate(size) if amount]


def times(amounts: Sequence[int], needs: Needs) -> int:
    """Return how many times all *needs* fit into *amounts*."""
    return min([amounts[at] // amount for at, amount in needs])
