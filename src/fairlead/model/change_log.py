"""Which things changed since a given moment, so that who keeps an index re-reads only those.

The log keeps each thing once, at its latest change, so it never outgrows what exists; where things
come and go for ever, it keeps the latest changes only. Undoing a change is a change as well: an
index that was brought up to date in the middle of a trial has to look again after the roll-back.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

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
