"""Numbers that are drawn: how long jobs run, how many pods they have, how many come at once.

A plain whole number is itself. All draws are whole; in milliseconds for a duration. What a
distribution would put outside of its bounds is moved to the bound, as a time limit does to a job
that would run on; so there may be many draws on the bound itself.

Draws are the same on every machine. Every purpose of every source of work draws from a stream of
its own, which depends on the seed and the purpose alone: one more source changes nothing about the
others. The curves turn ``random()``, which is the same everywhere, into a number by
`portable_math`, which is so too; a float lives for one line only and is rounded at its end.

A load can be promised only if the mean is that of the draws, rounded and held in their bounds. The
mean of whole draws is the lowest of them plus, for each whole number above it, the part of draws
that reach it; far from the start, where the curve is flat from one number to the next, the area
under it is the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from math import ceil, fsum, inf, lcm
from random import Random
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from fairlead.sim.fields import AS_POSITIVE_FACTOR
from fairlead.sim.work.portable_math import exp, log, normal_below, normal_from, power_of

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


WholeNumber_co = TypeVar("WholeNumber_co", covariant=True)  # a count, or a length of time
RealNumber_co = TypeVar("RealNumber_co", covariant=True)
_NO_BOUND: Final[Any] = 0


class Uniform(msgspec.Struct, Generic[WholeNumber_co], frozen=True, kw_only=True, tag="uniform"):
    """Everything between two bounds, equally often."""

    at_least: WholeNumber_co
    at_most: WholeNumber_co


class Exponential(
    msgspec.Struct,
    Generic[WholeNumber_co, RealNumber_co],
    frozen=True,
    kw_only=True,
    tag="exponential",
):
    """Without a memory: the mean before the bounds."""

    mean: RealNumber_co
    at_least: WholeNumber_co = _NO_BOUND
    at_most: WholeNumber_co | None = None


class Lognormal(
    msgspec.Struct,
    Generic[WholeNumber_co, RealNumber_co],
    frozen=True,
    kw_only=True,
    tag="lognormal",
):
    """As run times often are: median or mean, and sigma; 1 is a factor of 2.7.

    Either the median or the mean is given, both before the bounds.
    """

    median: RealNumber_co | None = None
    mean: RealNumber_co | None = None
    sigma: Annotated[Real, AS_POSITIVE_FACTOR]
    at_least: WholeNumber_co = _NO_BOUND
    at_most: WholeNumber_co | None = None


class Weibull(
    msgspec.Struct,
    Generic[WholeNumber_co, RealNumber_co],
    frozen=True,
    kw_only=True,
    tag="weibull",
):
    """Exponential, stretched: 63 % are below the scale; a shape below 1 has a heavier tail."""

    scale: RealNumber_co
    shape: Annotated[Real, AS_POSITIVE_FACTOR]
    at_least: WholeNumber_co = _NO_BOUND
    at_most: WholeNumber_co | None = None


class Pareto(msgspec.Struct, Generic[WholeNumber_co], frozen=True, kw_only=True, tag="pareto"):
    """The heaviest tail: (atLeast / x) ** alpha are above x.

    Without at_most there is no mean up to an alpha of 1.
    """

    at_least: WholeNumber_co
    alpha: Annotated[Real, AS_POSITIVE_FACTOR]
    at_most: WholeNumber_co | None = None


class Empirical(msgspec.Struct, frozen=True, kw_only=True, tag="empirical"):
    """The numbers that were seen, each with how often it was."""

    values: tuple[tuple[int, Real], ...]


LognormalCurve: TypeAlias = Lognormal[int, Real]
WeibullCurve: TypeAlias = Weibull[int, Real]
Curve: TypeAlias = Exponential[int, Real] | LognormalCurve | WeibullCurve | Pareto[int]
Number: TypeAlias = int | Uniform[int] | Empirical | Curve


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


_COUNTED: Final = 256  # whole numbers that are added one by one before the area is taken
_NOTHING_ABOVE: Final = 600.0  # exp(-600) is nothing


def mean_number(number: Number, *, lowest: int) -> Fraction | None:
    """The mean of the draws of `drawing` with the same *lowest*; None: it has none.

    Exact for whole numbers, Uniform and Empirical. For curves within a millionth of it, and the
    same to the last bit on every machine. Cost: milliseconds for the first time, then none.
    """
    match number:
        case int():
            return Fraction(number)
        case Uniform(at_least=at_least, at_most=at_most):
            return Fraction(at_least + at_most, 2)
        case Empirical(values=values):
            weights = whole_weights([weight for _, weight in values])
            total = sum(value * weight for (value, _), weight in zip(values, weights, strict=True))
            return Fraction(total, sum(weights))
        case Pareto(alpha=alpha, at_most=None) if alpha <= 1:
            return None
        case _:
            return Fraction(_mean_of_curve(number, lowest))


@lru_cache(maxsize=256)  # many sources and shapes run for as long as each other
def _mean_of_curve(curve: Curve, lowest: int) -> float:
    low = max(curve.at_least, lowest)
    end = low + _COUNTED
    if curve.at_most is not None:
        end = min(end, curve.at_most)
    counted = [part_above(curve, each - 0.5) for each in range(low + 1, end + 1)]
    # Not sum(): it adds floats in another way since Python 3.12.
    return fsum([low, *counted, _area(curve, float(end), curve.at_most)])


def part_above(curve: Curve, x: float) -> float:
    """The part of a curve, from 0 to 1, that lies above *x*, before the bounds."""
    match curve:
        case Exponential(mean=mean):
            return exp(-x / float(mean))
        case Lognormal():
            return normal_below(-_deviations(curve, x))
        case Weibull():
            return exp(-min(_stretched(curve, x), _NOTHING_ABOVE))
        case Pareto(at_least=at_least, alpha=alpha):
            return power_of(min(at_least / x, 1.0), float(alpha))


def _area(curve: Curve, start: float, at_most: int | None) -> float:
    """The area under `part_above` from *start* to *at_most*, or to the end of the curve."""
    if at_most is not None and at_most <= start:
        return 0.0
    match curve:
        case Exponential(mean=mean):
            rest = 0.0 if at_most is None else part_above(curve, at_most)
            return float(mean) * (part_above(curve, start) - rest)
        case Lognormal():
            rest = 0.0 if at_most is None else _lognormal_excess(curve, at_most)
            return _lognormal_excess(curve, start) - rest
        case Weibull():
            end = inf if at_most is None else float(at_most)
            return _weibull_area_until(curve, end) - _weibull_area_until(curve, start)
        case Pareto():
            return _pareto_area(curve, start, at_most)


def _lognormal_excess(curve: LognormalCurve, x: float) -> float:
    """By how much a draw is above *x*, on average, counting 0 where it is below."""
    sigma = float(curve.sigma)
    deviations = _deviations(curve, x)
    mean = middle_of(curve) * exp(sigma * sigma / 2.0)
    return mean * normal_below(sigma - deviations) - x * normal_below(-deviations)


def _weibull_area_until(curve: WeibullCurve, x: float) -> float:
    """The area from 0 to *x*: x * e**-t * (1 + t / (s + 1) + t**2 / ((s + 1) * (s + 2)) + ...).

    Here t is the number whose negative power of e is left at *x*, and s is 1 / shape. All terms
    are positive, so nothing is lost. Cost: some 1,000 terms at most.
    """
    part = 1.0 / float(curve.shape)
    x = min(x, float(curve.scale) * power_of(_NOTHING_ABOVE, part))
    stretched = _stretched(curve, x)
    term = total = 1.0
    step = 0
    while term > total * 2.0**-54:
        step += 1
        term *= stretched / (part + step)
        total += term
    return x * exp(-stretched) * total


def _pareto_area(curve: Pareto[int], start: float, at_most: int | None) -> float:
    slope = float(curve.alpha) - 1.0
    if slope == 0.0:
        assert at_most is not None
        return curve.at_least * log(at_most / start)
    rest = 0.0 if at_most is None else power_of(curve.at_least / at_most, slope)
    return curve.at_least / slope * (power_of(curve.at_least / start, slope) - rest)


def _deviations(curve: LognormalCurve, x: float) -> float:
    return log(x / middle_of(curve)) / float(curve.sigma)


def _stretched(curve: WeibullCurve, x: float) -> float:
    return power_of(x / float(curve.scale), float(curve.shape))


def random_stream(seed: int, source: str, purpose: str, index: int = 0) -> Random:
    """The stream of a purpose; of it only ``random()`` may be used.

    Python promises the same sequence of ``random()`` for a seed in all versions, and of nothing
    else. The digest makes a whole number, the plainest kind of seed, of names of any kind; it
    knows nothing of the process, its hash seed, its locale or its time zone.
    """
    digest = sha256(msgspec.json.encode([seed, source, purpose, index])).digest()
    return Random(int.from_bytes(digest, "big"))


Draw: TypeAlias = Callable[[], int]


def drawing(number: Number, stream: Random, *, lowest: int) -> Draw:
    """Return what draws *number* anew each time it is called; never below *lowest*.

    Only *number* and the stream decide, on every machine with IEEE 754 arithmetic. A plain whole
    number takes nothing from the stream. Cost of a draw: a few microseconds.
    """
    match number:
        case int():
            return lambda: number
        case Uniform(at_least=at_least, at_most=at_most):
            count = at_most - at_least + 1
            random = stream.random
            # In whole numbers: the span may have more digits than a float.
            return lambda: at_least + int(random() * _STEPS) * count // _STEPS
        case Empirical(values=values):
            return picking([value for value, _ in values], [weight for _, weight in values], stream)
        case _:
            return _bounded(number, stream, lowest)


def middle_of(curve: LognormalCurve) -> float:
    """The median of a lognormal curve, which also follows from its mean and sigma."""
    if curve.median is not None:
        return float(curve.median)
    assert curve.mean is not None
    sigma = float(curve.sigma)
    return float(curve.mean) * exp(-sigma * sigma / 2.0)


def _bounded(curve: Curve, stream: Random, lowest: int) -> Draw:
    draw = _curve(curve, stream)
    low = max(curve.at_least, lowest)
    high = HIGHEST if curve.at_most is None else curve.at_most
    return lambda: min(max(round(draw()), low), high)


def _curve(curve: Curve, stream: Random) -> Callable[[], float]:
    """Turn the part of draws that are above, 1 - random(), into the number that has it above."""
    random = stream.random
    match curve:
        case Exponential():
            mean = float(curve.mean)
            return lambda: -mean * log(1.0 - random())
        case Lognormal():
            median, sigma = middle_of(curve), float(curve.sigma)
            return lambda: median * exp(sigma * _normal(random))
        case Weibull():
            scale, root = float(curve.scale), 1.0 / float(curve.shape)
            return lambda: scale * power_of(-log(1.0 - random()), root)
        case Pareto():
            start, root = float(curve.at_least), 1.0 / float(curve.alpha)
            return lambda: start * exp(-log(1.0 - random()) * root)


def _normal(random: Callable[[], float]) -> float:
    while (found := normal_from(2.0 * random() - 1.0, 2.0 * random() - 1.0)) is None:
        pass
    return found
