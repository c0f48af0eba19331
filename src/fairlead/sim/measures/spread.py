"""The mean of a measure over several seeds, with its 95 % confidence interval.

The interval assumes independent runs that are not too skewed. For whole degrees of freedom the
distribution of Student's t is a finite sum of powers of a cosine, so no table is needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import atan, cos, fsum, pi, sin, sqrt
from typing import NamedTuple

import msgspec

from fairlead.sim.measures.summary import SCOPES, Key, Scope, Summary, flat_measures

MOST_DEGREES = 1000
"""Beyond that the quantile changes by less than 0.003, and the sum would only get longer."""


def within(t: float, degrees: int) -> float:
    """The probability that Student's t lies between *-t* and *t*. Cost: O(degrees)."""
    angle = atan(t / sqrt(degrees))
    cosine = cos(angle)
    # The terms: 1, 1/2 c^2, 1*3/(2*4) c^4, ... if even; c, 2/3 c^3, 2*4/(3*5) c^5, ... if odd.
    is_odd = degrees % 2
    term = cosine if is_odd else 1.0
    total = 0.0
    for power in range(1 + is_odd, degrees, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    if is_odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total


@lru_cache
def quantile_95(degrees: int) -> float:
    """The *t* that holds 95 % between *-t* and *t*, to six decimals.

    It falls from 12.706205 for one degree to 1.96 for very many; more than a thousand count as a
    thousand. Rounded, so that it does not depend on a machine's sine.
    """
    degrees = min(degrees, MOST_DEGREES)
    low, high = 0.0, 16.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if within(middle, degrees) < 0.95:
            low = middle
        else:
            high = middle
    return round(high, 6)


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """One measure over several runs, of the cluster or of one queue, user or kind."""

    scope: Scope
    name: str  # empty for the cluster
    measure: str  # the fields that lead to it, such as wait/p90_ms
    runs: int  # in which it is defined; the others are left out
    mean: float | None  # None: it is defined in no run
    low: float | None  # the interval of 95 %; None: fewer than two runs
    high: float | None


def spread(summaries: Sequence[Summary]) -> tuple[Spread, ...]:
    """The mean of every measure over the runs and its 95 % interval, by scope, name and measure.

    The order of the runs does not matter. Cost: measures x runs.
    """
    return spread_of([dict(flat_measures(summary)) for summary in summaries])


def spread_of(runs: Sequence[Mapping[Key, float | None]]) -> tuple[Spread, ...]:
    """The same of measures that are flat already."""
    values: dict[Key, list[float | None]] = {}
    for run in runs:
        for key, value in run.items():
            values.setdefault(key, []).append(value)
    return tuple(_spread(key, values[key]) for key in _in_order(values))


def difference(
    before: Mapping[int, Mapping[Key, float | None]],
    after: Mapping[int, Mapping[Key, float | None]],
) -> tuple[Spread, ...]:
    """The same of *after* minus *before*, each seed with itself.

    Two runs of one seed share their work, so what the work does to both falls out of the
    difference. Seeds that only one side has are left out, as are measures that one of them lacks.
    """
    values: dict[Key, list[float | None]] = {}
    for seed in before.keys() & after.keys():
        old, new = before[seed], after[seed]
        for key in old.keys() | new.keys():
            values.setdefault(key, []).append(_minus(new.get(key), old.get(key)))
    return tuple(_spread(key, values[key]) for key in _in_order(values))


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _in_order(keys: Iterable[Key]) -> list[Key]:
    return sorted(keys, key=lambda key: (SCOPES.index(key[0]), key[1:]))


class Interval(NamedTuple):
    """A mean, and the interval of 95 % around it."""

    mean: float | None  # None: nothing is known
    low: float | None  # None: fewer than two values
    high: float | None


def interval(values: Sequence[float]) -> Interval:
    """The mean of *values* and how sure it is, by Student's t. Their order does not matter."""
    if not values:
        return Interval(None, None, None)
    mean = fsum(values) / len(values)
    if len(values) == 1:
        return Interval(mean, None, None)
    squares = fsum((value - mean) ** 2 for value in values)
    error = sqrt(squares / (len(values) - 1) / len(values))
    reach = quantile_95(len(values) - 1) * error
    return Interval(mean, mean - reach, mean + reach)


def _spread(key: Key, values: Sequence[float | None]) -> Spread:
    scope, name, measure = key
    known = [float(value) for value in values if value is not None]
    mean, low, high = interval(known)
    return Spread(
        scope=scope, name=name, measure=measure, runs=len(known), mean=mean, low=low, high=high
    )
