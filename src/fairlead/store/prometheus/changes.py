"""From the samples of a series to the moments at which it changed.

A week of samples a minute apart says the same thing ten thousand times. Where a sample is absent,
nothing was told then; a number that is no amount (NaN, Inf, less than nothing) tells of no change
either, and what was told before it holds on.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from fairlead.store.prometheus.answer import Samples

_MAX_EXPONENT: Final = 30  # beyond any cluster, and still cheap to hold


class Change(NamedTuple):
    """From *at_ms* on a series says *amount*; None: it is absent."""

    at_ms: int
    amount: int | None


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """When a series changed, and the first number of it that is no amount."""

    changes: list[Change]
    odd: tuple[int, Decimal] | None = None  # when, and what it said


def changes_of(
    samples: Samples, *, step_ms: int, end_ms: int, scale: int, may_be_negative: bool = False
) -> Changes:
    """Keep of *samples* those that differ from the one before, in whole base units.

    *end_ms* is the last moment that was asked for. A guarantee *may be negative*, which is KAI's
    way to write that there is no limit. Cost: O(samples).
    """
    changes: list[Change] = []
    odd: tuple[int, Decimal] | None = None
    due_ms: int | None = None  # when the next sample should be
    number: Decimal | None = None
    for at_ms, value in samples:
        if at_ms != due_ms and due_ms is not None:
            changes.append(Change(due_ms, None))
            number = None
        due_ms = at_ms + step_ms
        # Equal numbers are mostly one object, which spares the comparison.
        if value is number or value == number:
            continue
        amount = base_units(value, scale)
        if amount is None or (amount < 0 and not may_be_negative):
            odd = odd or (at_ms, value)
        else:
            number = value
            changes.append(Change(at_ms, amount))
    if due_ms is not None and due_ms <= end_ms:
        changes.append(Change(due_ms, None))
    return Changes(changes=changes, odd=odd)


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
