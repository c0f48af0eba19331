"""How many pods of a claimant could find a place at most, if nobody who leaves came back.

A try places victims and claimant again, which costs milliseconds; most tries of a large search fail
for want of room. Placing again only takes room, so if even the emptied nodes have too little, the
try cannot succeed and need not be made. The bound looks at amounts only, and takes every part of a
device that becomes free for a whole one: it may promise too much, and never too little.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add

from fairlead.model.axes import Amounts
from fairlead.placement.node_room import NodeRoom

Leaving = Mapping[str, Sequence[int]]
"""What becomes free on nodes."""


class RoomBound:
    """Counts places for the first pods of a claimant on the nodes of one search."""

    def __init__(
        self,
        rooms: Callable[[], Mapping[str, NodeRoom]],
        base: Iterable[str],
        sizes: Iterable[Amounts],
        kept: Leaving,
    ) -> None:
        """Take in what the pods ask for, and what *kept* victims set free. Cost: the base nodes.

        *rooms* is asked each time, when the state is as it was at the start of the search.
        """
        self._rooms = rooms
        self._kept = kept
        self._wanted = Counter(sizes)
        self._places: dict[str, list[int]] = {}
        self._most = sum(self._wanted.values())
        for node in {*base, *kept}:
            free = kept.get(node)
            self._places[node] = [self._fitting(node, free, size) for size in self._wanted]
        totals = zip(*self._places.values(), strict=True)
        self._totals = list(map(sum, totals)) or [0] * len(self._wanted)

    def allows(self, more: Leaving) -> bool:
        """Return whether there may be room when *more* is set free as well."""
        for at, (size, wanted) in enumerate(self._wanted.items()):
            total = self._totals[at]
            for node, amounts in more.items():
                if total >= wanted:
                    break
                before = self._places.get(node)
                kept = self._kept.get(node)
                free = amounts if kept is None else tuple(map(add, amounts, kept))
                total += self._fitting(node, free, size) - (before[at] if before else 0)
            if total < wanted:
                return False
        return True

    def _fitting(self, node: str, free: Sequence[int] | None, size: Amounts) -> int:
        """Return how many of a size fit a node that has *free* more than now."""
        room = self._rooms().get(node)
        if room is None:  # not ready, or gone
            return 0
        there = room.later if free is None else map(add, room.later, free)
        most = self._most  # more than that is as good
        for amount, need in zip(there, size, strict=True):
            if need and amount < need * most:
                most = amount // need
        return most
