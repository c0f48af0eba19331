"""Numbers that are drawn: how long jobs run, how many pods they have, how many come at once.

A plain whole number is itself. All draws are whole; in milliseconds for a duration. What a
distribution would put outside of its bounds is moved to the bound, as a time limit does to a job
that would run on; so there may be many draws on the bound itself.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import ceil, lcm
from random import Random
from typing import Final, TypeAlias, TypeVar

import msgspec

Real: TypeAlias = int | Decimal
"""A number that need not be whole; exact, as it was written."""
ONE: Final = Decimal(1)

_STEPS: Final = 2**53  # random() is a whole number of these

Item = TypeVar("Item")


def picking(items: Sequence[Item], weights: Sequence[Real], stream: Random) -> Callable[[], Item]:
    """Return what draws one of *items*, each as often as its weight says.

    A weight of 0 is never drawn; one item alone is not drawn for. Each part is exact but for
    2**-53. Cost of a draw: O(log n).
    """
    if len(items) == 1:
        [only] = items
        return lambda: only
    cuts = _cuts(weights)
    random = stream.random
    return lambda: items[bisect_right(cuts, random())]


def _cuts(weights: Sequence[Real]) -> list[float]:
    """Where each part ends between 0 and 1; as multiples of 2**-53 they are exact as floats."""
    ends = list(accumulate(whole_weights(weights)))
    return [ceil(Fraction(end * _STEPS, ends[-1])) / _STEPS for end in ends]


def whole_weights(weights: Sequence[Real]) -> list[int]:
    """The smallest convenient whole numbers in the same proportions."""
    exact = [Fraction(weight) for weight in weights]
    scale = lcm(*(each.denominator for each in exact))
    return [int(each * scale) for each in exact]


HIGHEST: Final = 2**53 - 1
"""No draw is above this: 285,000 years, the highest number that a float still counts by ones."""

MOST: Final = 1_000_000
"""No job has more pods, and no more jobs come at once."""


class Uniform(msgspec.Struct, frozen=True, kw_only=True, tag="uniform"):
    """Every whole number from one bound to the other, both included, equally often."""

    at_least: int
    at_most: int


class Exponential(msgspec.Struct, frozen=True, kw_only=True, tag="exponential"):
    """Times without a memory; *mean* is that before the bounds."""

    mean: Real
    at_least: int = 0
    at_most: int | None = None


class LogNormal(msgspec.Struct, frozen=True, kw_only=True, tag="lognormal"):
    """Numbers whose logarithm is normal, as run times often are; sigma 1 is a factor of 2.7.

    Either the median or the mean is given, both before the bounds.
    """

    median: Real | None = None
    mean: Real | None = None
    sigma: Real
    at_least: int = 0
    at_most: int | None = None


class Weibull(msgspec.Struct, frozen=True, kw_only=True, tag="weibull"):
    """Exponential stretched: a shape below 1 has a heavier tail, one above 1 a lighter one."""

    scale: Real  # 63 % are below it
    shape: Real
    at_least: int = 0
    at_most: int | None = None


class Pareto(msgspec.Struct, frozen=True, kw_only=True, tag="pareto"):
    """The heaviest tail: (at_least / x) ** alpha are above x. Without at_most, no mean up to 1."""

    at_least: int
    alpha: Real
    at_most: int | None = None


class Empirical(msgspec.Struct, frozen=True, kw_only=True, tag="empirical"):
    """The numbers that were seen, each with how often it was."""

    values: tuple[tuple[int, Real], ...]


Curve: TypeAlias = Exponential | LogNormal | Weibull | Pareto
Number: TypeAlias = int | Uniform | Empirical | Curve


def highest_draw(count: Number) -> int:
    """Return the most that may be drawn of a number of pods or jobs that has no defects."""
    match count:
        case int():
            return count
        case Empirical(values=values):
            return max(value for value, weight in values if weight)
        case _:
            assert count.at_most is not None, "a count has a bound"
            return count.at_most
