"""How much weight the time up to a moment has, so that use is a level times a difference.

Use fades by half with every half-life. Instead of making every sum smaller as time passes, each
moment gets a larger weight than the one before: what is added later counts for more, sums never
have to be touched, and at the time of reading one common factor brings all of them down to today.
In a ratio, such as use over capacity, that factor cancels. Adding is exact, so the order in which
it is done cannot matter, and fading in two steps is fading in one.

There are two ways to sum, and one form for both. *Exact* is the integral over time: without decay
the weight of the time up to t is t; with a half-life H it is 2**(t/H), but for a constant factor.
*Sampled* looks at the level at every multiple of a resolution, as a database of metrics does, and
each sample stands for one resolution: that is the same formula with t rounded up to the next
sample, and another constant. A sample at the moment of a change sees what is new. A sampled window
is open at its old end and closed at its new one.

Weights are whole numbers of 2**-72 of what time weighed at a base, which moves up and stays 8 to 40
half-lives behind. A sum has a relative error below 1e-9 as long as half-lives are shorter than ten
years and something in it is younger than 40 half-lives; what is older than that is lost by and by.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from fairlead.errors import UsageError
from fairlead.usage.window import Sliding, Window, begins_at, check_window

POWER_BITS = 72
LN2 = 0xB17217F7D1CF79ABCA  # ln 2 as a whole number of 2**-72

_WORK_BITS = 112
_LN2_WORK = 0xB17217F7D1CF79ABC9E3B39803F2
_HALVINGS = 8  # the series converges fast near 0; squaring undoes each halving
_TERMS = 10

HEADROOM = 8  # half-lives that the base stays behind the present
MOST_HEADROOM = 40  # beyond it, the base moves
MARK_BITS = POWER_BITS + MOST_HEADROOM + 2  # of the weight of an entry, at most


class Moment(NamedTuple):
    """A time, its weight, and where windows begin that begin with it, or before it."""

    at_ms: int
    mark: int
    edge_ms: int  # the last moment, not after this one, where a window that matters may begin
    oldest_ms: int  # where a window that ends here begins
    mark_of: Callable[[int], int]  # of any other time


class Span(NamedTuple):
    """Where a window begins, and the weights of its two ends."""

    begin_ms: int
    begin_mark: int
    end_mark: int


class Timeline:
    """Marks on the time axis: the weight of a stretch is the difference of two of them."""

    def __init__(self, window: Window, half_life_ms: int | None, resolution_ms: int | None) -> None:
        """Check the settings; no resolution means the exact integral."""
        check_window(window)
        for name, value_ms in (("half-life", half_life_ms), ("resolution", resolution_ms)):
            if value_ms is not None and value_ms <= 0:
                raise UsageError(f"a {name} of {value_ms} ms is not possible; leave it out instead")
        self.base = 0  # in half-lives since 0 ms
        self._window = window
        self._half_life_ms = half_life_ms
        self._resolution_ms = resolution_ms
        # In whole milliseconds, (begin, end] is [begin + 1, end + 1).
        self._shift_ms = 0 if resolution_ms is None else 1
        self._slides = isinstance(window, Sliding)
        self._known_mark = lru_cache(maxsize=512)(self.mark)  # many queues change at once
        self.moment = lru_cache(maxsize=64)(self._moment)
        self.span = lru_cache(maxsize=16)(self._span)
        self._factor = lru_cache(maxsize=16)(self._find_factor)

    @property
    def settings(self) -> tuple[Window, int | None, int | None]:
        """The window, the half-life, and the resolution of samples."""
        return self._window, self._half_life_ms, self._resolution_ms

    def resource_time(self, weighted: int, now_ms: int) -> int:
        """What a weighted sum is worth at *now_ms*, in whole amounts times milliseconds."""
        numerator, denominator = self._factor(now_ms)
        return _nearest(weighted * numerator, denominator)

    def weighted(self, resource_time: int, at_ms: int) -> int:
        """The weighted sum that was worth *resource_time* at *at_ms*."""
        numerator, denominator = self._factor(at_ms)
        return _nearest(resource_time * denominator, numerator)

    def mark(self, at_ms: int) -> int:
        """The weight of all time before *at_ms*, but for a constant."""
        if self._resolution_ms is not None:
            at_ms = -(-at_ms // self._resolution_ms) * self._resolution_ms
        return self._growth(at_ms)

    def halvings_due(self, at_ms: int) -> int:
        """How many times all sums and marks must be halved before *at_ms* is marked; mostly 0."""
        if self._half_life_ms is None:
            return 0
        ahead = at_ms // self._half_life_ms - self.base
        return ahead - HEADROOM if ahead > MOST_HEADROOM else 0

    def halve(self, times: int) -> None:
        """Move the base up: marks made from now on are so many times halved."""
        self.base += times
        self._known_mark.cache_clear()
        self.moment.cache_clear()
        self.span.cache_clear()
        self._factor.cache_clear()

    def _moment(self, at_ms: int) -> Moment:
        oldest_ms = self._begin_ms(at_ms - self._shift_ms)
        edge_ms = at_ms if self._slides else oldest_ms
        return Moment(at_ms, self.mark(at_ms), edge_ms, oldest_ms, self._known_mark)

    def _span(self, now_ms: int) -> Span:
        begin_ms = self._begin_ms(now_ms)
        return Span(begin_ms, self.mark(begin_ms), self.mark(now_ms + self._shift_ms))

    def _begin_ms(self, now_ms: int) -> int:
        return begins_at(self._window, now_ms) + self._shift_ms

    def _growth(self, at_ms: int) -> int:
        if self._half_life_ms is None:
            return at_ms
        half_lives, rest_ms = divmod(at_ms, self._half_life_ms)
        power = power_of_two(rest_ms, self._half_life_ms)
        ahead = half_lives - self.base
        return power << ahead if ahead >= 0 else power >> -ahead

    def _find_factor(self, now_ms: int) -> tuple[int, int]:
        """Numerator and denominator by which a weighted sum becomes resource-time at *now_ms*.

        The integral of 2**(t/H) is 2**(t/H) * H / ln 2; a sum of samples r apart is geometric,
        with r / (2**(r/H) - 1) in the place of H / ln 2.
        """
        half_life_ms, resolution_ms = self._half_life_ms, self._resolution_ms
        if half_life_ms is None:
            return 1, 1
        growth = max(1, self._growth(now_ms))
        if resolution_ms is None:
            return half_life_ms << POWER_BITS, LN2 * growth
        half_lives, rest_ms = divmod(resolution_ms, half_life_ms)
        ratio = power_of_two(rest_ms, half_life_ms) << half_lives
        return resolution_ms << POWER_BITS, (ratio - (1 << POWER_BITS)) * growth


def _nearest(numerator: int, denominator: int) -> int:
    """The quotient to the nearest whole number; the same for a negative, but for its sign."""
    size = (2 * abs(numerator) + denominator) // (2 * denominator)
    return size if numerator >= 0 else -size


def power_of_two(part: int, whole: int) -> int:
    """2 ** (part / whole) for 0 <= part < whole, as a whole number of 2**-72, within one of them.

    Never less for a larger part. Cost: 18 multiplications of 112 bits.
    """
    assert 0 <= part < whole
    exponent = (part * _LN2_WORK // whole) >> _HALVINGS
    term = power = 1 << _WORK_BITS
    for place in range(1, _TERMS + 1):
        term = (term * exponent >> _WORK_BITS) // place
        power += term
    for _ in range(_HALVINGS):
        power = power * power >> _WORK_BITS
    return power >> (_WORK_BITS - POWER_BITS)
