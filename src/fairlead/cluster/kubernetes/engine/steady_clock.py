"""The time of day for plans, which a change of the machine's clock does not move."""

import time
from collections.abc import Callable


class SteadyClock:
    """The wall clock as it was at the start, carried on by the monotonic one.

    A wall clock that is set back would make protected run times and pauses longer, one that is set
    ahead would end them. Where the kernel slews its clocks by NTP, this one follows.
    """

    def __init__(
        self,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 10**6,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with the time of the wall clock."""
        self._monotonic_s = monotonic_s
        self._offset_ms = wall_ms() - round(monotonic_s() * 1000)

    def now_ms(self) -> int:
        """Return the milliseconds since 1970."""
        return self._offset_ms + round(self._monotonic_s() * 1000)
