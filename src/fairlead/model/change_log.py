"""Which things changed since a given moment, so that who keeps an index re-reads only those.

The log keeps each thing once, at its latest change, so it never outgrows what exists. Undoing a
change is a change as well: an index that was brought up to date in the middle of a trial has to
look again after the roll-back.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class ChangeLog(Generic[Thing]):
    """Things in the order of their latest changes. A moment is the number of changes so far."""

    def __init__(self) -> None:
        """Start before the first change."""
        self.moment = 0
        self._changed: dict[Thing, int] = {}  # to the moment of the latest change, oldest first

    def touch(self, thing: Thing) -> None:
        """Note that *thing* changed just now."""
        self.moment += 1
        self._changed.pop(thing, None)
        self._changed[thing] = self.moment

    def since(self, moment: int) -> list[Thing]:
        """Return what changed after *moment*, the latest first. Cost: as much as there is."""
        found = []
        for thing in reversed(self._changed):
            if self._changed[thing] <= moment:
                break
            found.append(thing)
        return found
