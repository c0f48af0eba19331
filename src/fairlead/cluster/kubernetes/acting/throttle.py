"""How many requests a lane makes at once, and when it makes none, by what the API server asks for.

It knows no event loop, so that a test can lead it through any order of answers.
"""

import logging
from collections.abc import Callable
from typing import Final

from fairlead.cluster.kubernetes.client.backoff import Backoff

_NARROW_AFTER: Final = 3  # answers in a row that ask for less
_WIDEN_AFTER: Final = 100  # successes

_LOG: Final = logging.getLogger(__name__)


class Throttle:
    """The width of one lane, and the pause that it is in."""

    def __init__(self, name: str, width: int, random: Callable[[], float]) -> None:
        """Begin with the full *width*, which is never exceeded, and without a pause."""
        self.width = width
        self.resumes_s = 0.0  # by the clock of the lane
        self._name = name
        self._most = width
        self._pauses = Backoff(random, first_s=0.1)
        self._in_a_row = 0  # answers that ask for less, or successes, as a negative number

    def succeeded(self) -> None:
        """Note an answer that shows a server that copes."""
        self._pauses.reset()
        self._in_a_row = min(0, self._in_a_row) - 1
        if self._in_a_row <= -_WIDEN_AFTER:
            self._in_a_row = 0
            self.width = min(self._most, self.width + 1)

    def asked_for_less(self, now_s: float, retry_after_s: int) -> None:
        """Note an answer that asks for fewer requests, and for none for some time."""
        self._in_a_row = max(0, self._in_a_row) + 1
        if self._in_a_row >= _NARROW_AFTER:
            self._in_a_row = 0
            self.width = max(1, self.width // 2)
            _LOG.warning("the API server asks for less: %s are %d at once", self._name, self.width)
        self.pause(now_s, retry_after_s)

    def pause(self, now_s: float, at_least_s: int = 0) -> None:
        """Make no request for a while: the server cannot be asked now."""
        self.resumes_s = max(self.resumes_s, now_s + self._pauses.next_s(at_least_s))
