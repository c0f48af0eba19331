"""What is still to happen, the next first.

At one moment things happen in a fixed order: work ends and places become free before anything asks
for them, work comes before the cycle that may start it. What has the same rank happens in the order
in which it was put in, so that a simulation is the same every time.
"""

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any


class EventOrder(IntEnum):
    """What goes first at one moment."""

    FINISH = 0
    STOP = 1
    CLUSTER = 2
    SUBMIT = 3
    USAGE = 4
    CYCLE = 5


class EventQueue:
    """A heap of calls to make, each at its time."""

    def __init__(self) -> None:
        """Begin with nothing to come."""
        self._heap: list[tuple[int, int, int, Callable[[int, Any], None], Any]] = []
        self._counter = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(
        self, at_ms: int, rank: EventOrder, call: Callable[[int, Any], None], what: Any
    ) -> None:
        """Let ``call(at_ms, what)`` be made at *at_ms*."""
        self._counter += 1
        heappush(self._heap, (at_ms, rank, self._counter, call, what))

    def next_ms(self) -> int | None:
        """Return when something happens next; None: never."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> None:
        """Make the next call."""
        at_ms, _, _, call, what = heappop(self._heap)
        call(at_ms, what)
