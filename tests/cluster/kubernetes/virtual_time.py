"""An event loop whose clock leaps to the next timer when nothing else is to be done.

A pause of a minute takes no time, and the order of what happens is the same on every machine. For
code that talks to no network: the loop never waits for a file descriptor.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

_MOST_LEAPS = 100_000
"""A story that leaps more often waits for what never comes, or does not pause where it should."""


class _NoWaiting(selectors.SelectSelector):
    """Notes for how long it was to wait, in place of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1000.0
        self.leaps = 0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits, and no timer will end that"
        if timeout > 0:
            self.now_s += timeout
            self.leaps += 1
            assert self.leaps < _MOST_LEAPS, "the story does not come to an end"
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop for stories without a network."""

    def __init__(self) -> None:
        self._no_waiting = _NoWaiting()
        super().__init__(self._no_waiting)

    def time(self) -> float:
        """Return the seconds of the loop's own clock, which begins at 1000."""
        return self._no_waiting.now_s


def run(story: Coroutine[Any, Any, _T]) -> _T:
    """Run a test's story to its end."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(story)
