"""Nodes in an order that changes a little all the time."""

from bisect import bisect_left, insort
from collections.abc import Iterator

Key = tuple[int, str]  # what they are ordered by, and the name


class SortedNodes:
    """Names of nodes by a number, then by name. Moving one costs a search and a shift in C."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._keys: list[Key] = []
        self._of: dict[str, Key] = {}

    def put(self, name: str, number: int) -> None:
        """Put a node in its place by *number*, and remove it from the one it had."""
        key = (number, name)
        if self._of.get(name) != key:
            self.drop(name)
            insort(self._keys, key)
            self._of[name] = key

    def drop(self, name: str) -> None:
        """Remove a node, if it is there."""
        key = self._of.pop(name, None)
        if key is not None:
            del self._keys[bisect_left(self._keys, key)]

    def between(self, least: int | None, most: int | None) -> Iterator[str]:
        """Yield, in order, the names whose number is from *least* to *most*; None: no bound."""
        keys = self._keys
        start = 0 if least is None else bisect_left(keys, (least, ""))
        end = len(keys) if most is None else bisect_left(keys, (most + 1, ""))
        for at in range(start, end):
            yield keys[at][1]

    def least(self) -> int | None:
        """Return the smallest number; None if there are no nodes."""
        return self._keys[0][0] if self._keys else None

    def most(self) -> int | None:
        """Return the largest number; None if there are no nodes."""
        return self._keys[-1][0] if self._keys else None

    def in_order(self) -> Iterator[str]:
        """Yield all names in the order of this moment, whatever moves while they are read."""
        return (name for _, name in self.keys())

    def keys(self) -> list[Key]:
        """Return all names in the order of this moment, each with its number."""
        return self._keys.copy()
