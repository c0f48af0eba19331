"""Numbers that are drawn: how long jobs run, how many pods they have, how many come at once.

A plain whole number is itself. All draws are whole; in milliseconds for a duration. What a
distribution would put outside of its bounds is moved to the bound, as a time limit does to a job
that would run on; so there may be many draws on the bound itself.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import ceil, lcm
from random import Random
from typing import Final, TypeAlias, TypeVar

import msgspec

from fairlead.sim.work.work_error import (
    Real,
    WorkError,
    positive_defects,
    real_problem,
    whole_number_defects,
)

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


def weight_defects(weights: Sequence[Real], field: str) -> Iterator[WorkError]:
    """Yield the first weight that means nothing, or that nothing can be drawn by all of them."""
    if not weights:
        yield WorkError(field, "found nothing to draw from, expected one or more", "add one")
        return
    for weight in weights:
        problem = real_problem(weight)
        if problem is None and weight < 0:
            problem = f"found the weight {weight}, expected at least 0"
        if problem is not None:
            yield WorkError(field, problem, "write a number of ordinary size, 0 or more")
            return
    if not any(weights):
        yield WorkError(
            field, "found weights that sum to 0, expected more than 0", "write at least one above 0"
        )


HIGHEST: Final = 2**53 - 1
"""No draw is above this: 285,000 years, the highest number that a float still counts by ones."""

MOST: Final = 1_000_000
"""No job has more pods, and no more jobs come at once."""

# Beyond these a draw spans more powers of ten than a float has; nothing real comes near them.
_MAX_SIGMA: Final = 10
_MAX_SHAPE: Final = 100
_MIN_SHAPE: Final = Decimal("0.1")


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


def number_defects(number: Number, field: str, *, lowest: int) -> Iterator[WorkError]:
    """Yield what is wrong with a number that must be *lowest* or more.

    A curve may reach below: its draws are then moved up to *lowest*.
    """
    match number:
        case int():
            yield from whole_number_defects(number, field, lowest=lowest, highest=HIGHEST)
        case Uniform():
            yield from whole_number_defects(number.at_least, f"{field}.at_least", lowest=lowest)
            yield from _order_defects(number.at_least, number.at_most, field)
        case Empirical(values=values):
            yield from _value_defects(values, f"{field}.values", lowest)
        case _:
            yield from _curve_defects(number, field)
            yield from _order_defects(max(number.at_least, lowest), number.at_most, field)


def count_defects(number: Number, field: str, *, lowest: int) -> Iterator[WorkError]:
    """Yield what is wrong with a number of pods or jobs, of which there must be a bound.

    A heavy tail would otherwise one day ask for more than there is memory.
    """
    found = list(number_defects(number, field, lowest=lowest))
    yield from found
    if found:
        return
    match number:
        case int():
            yield from whole_number_defects(number, field, lowest=lowest, highest=MOST)
        case Empirical(values=values):
            most = max(value for value, _ in values)
            yield from whole_number_defects(most, f"{field}.values", lowest=lowest, highest=MOST)
        case _ if number.at_most is None:
            problem = f"found no at_most, expected one of at most {MOST}"
            yield WorkError(field, problem, "add at_most")
        case _:
            yield from whole_number_defects(
                number.at_most, f"{field}.at_most", lowest=lowest, highest=MOST
            )


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


def _order_defects(at_least: int, at_most: int | None, field: str) -> Iterator[WorkError]:
    if at_most is not None:
        lowest = max(at_least, 0)
        yield from whole_number_defects(at_most, f"{field}.at_most", lowest=lowest, highest=HIGHEST)


def _value_defects(
    values: tuple[tuple[int, Real], ...], field: str, lowest: int
) -> Iterator[WorkError]:
    for place, (value, _) in enumerate(values):
        yield from whole_number_defects(value, f"{field}[{place}]", lowest=lowest, highest=HIGHEST)
    yield from weight_defects([weight for _, weight in values], field)


def _curve_defects(curve: Curve, field: str) -> Iterator[WorkError]:
    lowest = 1 if isinstance(curve, Pareto) else 0
    yield from whole_number_defects(
        curve.at_least, f"{field}.at_least", lowest=lowest, highest=HIGHEST
    )
    match curve:
        case Exponential(mean=mean):
            yield from positive_defects(mean, f"{field}.mean", highest=HIGHEST)
        case LogNormal(sigma=sigma):
            yield from positive_defects(sigma, f"{field}.sigma", highest=_MAX_SIGMA)
            yield from _middle_defects(curve, field)
        case Weibull(scale=scale, shape=shape):
            yield from positive_defects(scale, f"{field}.scale", highest=HIGHEST)
            yield from positive_defects(
                shape, f"{field}.shape", lowest=_MIN_SHAPE, highest=_MAX_SHAPE
            )
        case Pareto(alpha=alpha):
            yield from positive_defects(
                alpha, f"{field}.alpha", lowest=_MIN_SHAPE, highest=_MAX_SHAPE
            )


def _middle_defects(curve: LogNormal, field: str) -> Iterator[WorkError]:
    given = {"median": curve.median, "mean": curve.mean}
    written = {name: value for name, value in given.items() if value is not None}
    if len(written) != 1:
        found = "both median and mean" if written else "neither median nor mean"
        yield WorkError(field, f"found {found}, expected one of them", "write one of them")
    for name, value in written.items():
        yield from positive_defects(value, f"{field}.{name}", highest=HIGHEST)
