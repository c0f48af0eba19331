"""How many requests a lane makes at once, and when it makes none, by what the API server asks for.

Requests that are on their way together fail together: a connection that breaks, or a server that
asks for less, is one event for all of them. So of the requests that began before a pause only the
first to fail counts.

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
        self.pauses = 0  # how many there were; a request notes the number when it begins
        self._name = name
        self._most = width
        self._backoff = Backoff(random, first_s=0.1)
        self._in_a_row = 0  # answers that ask for less, or successes, as a negative number

    def succeeded(self) -> None:
        """Note an answer that shows a server that copes."""
        self._backoff.reset()
        self._in_a_row = min(0, self._in_a_row) - 1
        if self._in_a_row <= -_WIDEN_AFTER:
            self._in_a_row = 0
            self.width = min(self._most, self.width + 1)

    def asked_for_less(self, now_s: float, retry_after_s: int, begun_after: int) -> None:
        """Note an answer that asks for fewer requests, and for none for some time.

        *begun_after* is how many pauses there were when the request began.
        """
        if begun_after == self.pauses:
            self._in_a_row = max(0, self._in_a_row) + 1
            if self._in_a_row >= _NARROW_AFTER:
                self._in_a_row = 0
                self.width = max(1, self.width // 2)
                width = self.width
                _LOG.warning("the API server asks for less: %s are %d at once", self._name, width)
        self.pause(now_s, begun_after, retry_after_s)

    def pause(self, now_s: float, begun_after: int, at_least_s: int = 0) -> None:
        """Make no request for a while: the server cannot be asked now."""
        pause_s: float = at_least_s
        if begun_after == self.pauses:
            self.pauses += 1
            pause_s = self._backoff.next_s(at_least_s)
        self.resumes_s = max(self.resumes_s, now_s + pause_s)
