"""Changes that can be taken back exactly.

A policy tries things out on the state itself instead of on a copy: it sets a mark, makes changes,
and rolls back. Two kinds of change are enough for the whole state: an entry of a dictionary is set
(or dropped), and amounts are added to a vector. Both keep what was there, so a roll-back costs what
the trial cost, whatever the size of the state. What others index is noted in a change log, which
hears of the undoing too. Outside a trial nothing is recorded.
"""

from collections.abc import Hashable, Iterable
from operator import add
from typing import Any, Generic, NewType, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class ChangeLog(Generic[Thing]):
    """Things in the order of their latest changes. A moment is the number of changes so far."""

    def __init__(self, most: int | None = None) -> None:
        """Start before the first change; keep *most* things at least (None: all of them)."""
        self.moment = 0
        self._most = most
        self._forgotten = 0  # until when changes may not be known any more
        self._changed: dict[Thing, int] = {}  # to the moment of the latest change, oldest first

    def touch(self, thing: Thing) -> None:
        """Note that *thing* changed just now."""
        self.moment += 1
        self._changed.pop(thing, None)
        self._changed[thing] = self.moment
        if self._most is not None and len(self._changed) > 2 * self._most:
            self._forget(self._most)

    def remembers(self, moment: int) -> bool:
        """Return whether all is known that changed after *moment*."""
        return moment >= self._forgotten

    def since(self, moment: int) -> list[Thing]:
        """Return what changed after *moment*, the latest first. Cost: as much as there is."""
        found = []
        for thing in reversed(self._changed):
            if self._changed[thing] <= moment:
                break
            found.append(thing)
        return found

    def _forget(self, most: int) -> None:
        """Keep the latest changes alone."""
        latest = list(self._changed.items())[-most:]
        self._forgotten = latest[0][1]
        self._changed = dict(latest)


Key = TypeVar("Key")
Value = TypeVar("Value")

Mark = NewType("Mark", int)


class _Absent:
    """Stands for "there was no entry", which None could not."""


_ABSENT = _Absent()


class Journal:
    """Makes changes and, while a mark is set, remembers how to undo them."""

    def __init__(self) -> None:
        """Start with no mark set."""
        # (vector, old amounts, None), (dictionary, key, old value) or (change log, thing, None)
        self._undo: list[tuple[Any, Any, Any]] = []
        self._marks: dict[Mark, int] = {}  # and how much there was to undo then
        self._last_mark = 0

    def mark(self) -> Mark:
        """Remember this moment; marks nest."""
        self._last_mark += 1  # never used again, so that a stale mark is noticed
        mark = Mark(self._last_mark)
        self._marks[mark] = len(self._undo)
        return mark

    def roll_back(self, mark: Mark) -> bool:
        """Undo every change made since *mark*, and drop it with the marks set after it.

        Returns whether there was any.
        """
        start = self._forget(mark)
        undone = self._undo[start:]
        del self._undo[start:]
        for target, key, old in reversed(undone):
            kind = type(target)
            if kind is list:
                target[:] = key
            elif kind is ChangeLog:
                target.touch(key)
            elif old is _ABSENT:
                del target[key]
            else:
                target[key] = old
        return bool(undone)

    def keep(self, mark: Mark) -> None:
        """Let the changes since *mark* stand; an outer mark can still undo them."""
        self._forget(mark)
        if not self._marks:
            self._undo.clear()

    def put(self, target: dict[Key, Value], key: Key, value: Value) -> None:
        """Set an entry of *target*."""
        if self._marks:
            self._undo.append((target, key, target.get(key, _ABSENT)))
        target[key] = value

    def drop(self, target: dict[Key, Value], key: Key) -> None:
        """Remove an entry of *target*, which must be there."""
        if self._marks:
            self._undo.append((target, key, target[key]))
        del target[key]

    def add(self, vector: list[int], amounts: Iterable[int]) -> None:
        """Add *amounts* to *vector*, axis by axis."""
        if self._marks:
            self._undo.append((vector, vector.copy(), None))
        vector[:] = map(add, vector, amounts)

    def touch(self, log: ChangeLog[Thing], thing: Thing) -> None:
        """Note in *log* that *thing* changes here, and changes back if this is undone."""
        if self._marks:
            self._undo.append((log, thing, None))
        log.touch(thing)

    def _forget(self, mark: Mark) -> int:
        assert mark in self._marks, "a mark is used once, and outlives no outer mark"
        start = self._marks[mark]
        while mark in self._marks:
            self._marks.popitem()
        return start
