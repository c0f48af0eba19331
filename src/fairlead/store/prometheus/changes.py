"""From the samples of a series to the moments at which it changed.

A week of samples a minute apart says the same thing ten thousand times. Where a sample is absent,
nothing was told then; a number that is no amount (NaN, Inf, less than nothing) tells of no change
either, and what was told before it holds on, also from one stretch of time to the next.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final, NamedTuple

from fairlead.store.prometheus.answer import Samples

_MAX_EXPONENT: Final = 30  # beyond any cluster, and still cheap to hold


class Change(NamedTuple):
    """From *at_ms* on a series says *amount*; None: it is absent."""

    at_ms: int
    amount: int | None


class LastTold(NamedTuple):
    """The number that a series has at the end of a stretch, and when its next sample is due."""

    due_ms: int
    number: Decimal


class Odd(NamedTuple):
    """A number that is no amount, and whether there was one before it, which holds on."""

    at_ms: int
    number: Decimal
    follows_amount: bool


class SeriesChanges:
    """When one series changed, in whole base units, and the first number of it that is no amount.

    Law: taking samples in pieces, in the order of time, gives the same as taking all at once; and
    so does going on with what another one has *last*, but that its amount is told once more.
    """

    def __init__(
        self,
        *,
        step_ms: int,
        scale: int,
        may_be_negative: bool = False,
        before: LastTold | None = None,
    ) -> None:
        """Know no sample yet of those that should be *step_ms* apart, the first of them now.

        A guarantee *may be negative*, which is KAI's way to write that there is no limit.
        """
        self.changes: list[Change] = []
        self.odd: Odd | None = None
        self._step_ms = step_ms
        self._scale = scale
        self._may_be_negative = may_be_negative
        self._due_ms: int | None = None  # when the next sample should be
        self._number: Decimal | None = None
        if before is not None:
            self._due_ms, self._number = before
            self._change(before.due_ms, base_units(before.number, scale))

    @property
    def last(self) -> LastTold | None:
        """What the next stretch begins with; None if nothing is told at the end of this one."""
        if self._due_ms is None or self._number is None:
            return None
        return LastTold(self._due_ms, self._number)

    def take(self, samples: Samples) -> None:
        """Keep of *samples* those that differ from the one before. Cost: O(samples)."""
        for at_ms, value in samples:
            if at_ms != self._due_ms and self._due_ms is not None:
                self._fall_silent(self._due_ms)
            self._due_ms = at_ms + self._step_ms
            # Equal numbers are mostly one object, which spares the comparison.
            if value is self._number or value == self._number:
                continue
            amount = base_units(value, self._scale)
            if amount is None or (amount < 0 and not self._may_be_negative):
                self.odd = self.odd or Odd(at_ms, value, self._number is not None)
            else:
                self._number = value
                self._change(at_ms, amount)

    def finish(self, end_ms: int) -> None:
        """Say that nothing is told any more after the last sample, if one is due by *end_ms*."""
        if self._due_ms is not None and self._due_ms <= end_ms:
            self._fall_silent(self._due_ms)

    def _fall_silent(self, at_ms: int) -> None:
        if self._number is not None:
            self._number = None
            self._change(at_ms, None)

    def _change(self, at_ms: int, amount: int | None) -> None:
        """Note a change, in the place of what was only supposed to go on at that moment."""
        if self.changes and self.changes[-1].at_ms == at_ms:
            self.changes.pop()
        self.changes.append(Change(at_ms, amount))


def largest(several: Sequence[list[Change]]) -> list[Change]:
    """The largest of what several series of one thing say, such as of one queue.

    An exporter that restarts under another name is there twice for a while; adding both up would
    charge the queue twice. Cost: O(changes times series).
    """
    if len(several) == 1:
        return several[0]
    told: list[int | None] = [None] * len(several)
    merged: list[Change] = []
    level: int | None = None
    marked = [(change, which) for which, changes in enumerate(several) for change in changes]
    marked.sort(key=lambda each: each[0].at_ms)
    for at_ms, group in groupby(marked, key=lambda each: each[0].at_ms):
        for change, which in group:
            told[which] = change.amount
        now = max((each for each in told if each is not None), default=None)
        if now != level:
            level = now
            merged.append(Change(at_ms, now))
    return merged


def base_units(value: Decimal, scale: int) -> int | None:
    """*value* times *scale* to the nearest whole number, half to even; None if it is no amount."""
    if not value.is_finite() or value.adjusted() > _MAX_EXPONENT:
        return None
    if value.adjusted() < -_MAX_EXPONENT:
        return 0
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator * scale, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1)
    return whole + is_up
