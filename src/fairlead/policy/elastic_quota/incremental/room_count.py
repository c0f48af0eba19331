"""At most how many pods of a size find room, once everybody has left who is leaving.

Only room is counted: what else a node may have against a pod, and who waits there for others to
leave, can make it less and never more. So who needs more than that need not be tried.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState

SIZES_REMEMBERED: Final = 256


class _Count:
    """The pods of one size that nodes have room for, as of one moment of the change log."""

    def __init__(self, requests: Amounts) -> None:
        self.needed = [(at, need) for at, need in enumerate(requests) if need > 0]
        self.on_node: dict[str, int] = {}
        self.total = 0
        self.read_at = 0


class RoomCount:
    """Counts on the nodes of one state, through all its changes."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*."""
        self._state = state
        self._counts: dict[Amounts, _Count] = {}

    def is_enough(
        self, requests: Amounts, pods: int, *reliefs: Mapping[str, Sequence[int]]
    ) -> bool:
        """Return whether there may be room for so many pods that ask for *requests* each.

        That is with what *reliefs* have, by node, left to them too; what is in two, counts twice.

        Law: False means that there is none, whoever has been nominated and whatever they demand of
        nodes. Cost: the nodes that changed since the last such question, and those in *reliefs*.
        """
        count = self._counts.get(requests)
        if count is None:
            if len(self._counts) >= SIZES_REMEMBERED:
                self._counts.clear()
            count = self._counts[requests] = _Count(requests)
        changes = self._state.books.changes
        if count.read_at != changes.moment:
            for name in changes.since(count.read_at):
                self._read(count, name)
            count.read_at = changes.moment
        if not count.needed or count.total >= pods:
            return True
        return bool(reliefs) and count.total + self._more(count, reliefs) >= pods

    def _more(self, count: _Count, reliefs: Sequence[Mapping[str, Sequence[int]]]) -> int:
        more = 0
        for name in {name for each in reliefs for name in each}:
            given = [each[name] for each in reliefs if name in each]
            more += self._pods_on(count, name, given) - count.on_node.get(name, 0)
        return more

    def _read(self, count: _Count, name: str) -> None:
        before = count.on_node.pop(name, 0)
        now = self._pods_on(count, name)
        if now:
            count.on_node[name] = now
        count.total += now - before

    def _pods_on(self, count: _Count, name: str, given: Sequence[Sequence[int]] = ()) -> int:
        node = self._state.nodes.get(name)
        if node is None or not count.needed:
            return 0
        use, occupied = self._state.books.use(name), self._state.books.occupied(name)
        sizes, held, leaving = node.allocatable, use.held, use.leaving
        taken, released = occupied.held, occupied.leaving
        found = None
        for at, need in count.needed:
            free = sizes[at] - taken[at] - held[at] + leaving[at] + released[at]
            for each in given:
                free += each[at]
            fitting = free // need
            if found is None or fitting < found:
                found = fitting
        return found if found is not None and found > 0 else 0
