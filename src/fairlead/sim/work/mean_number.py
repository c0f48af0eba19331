"""The mean of a distribution as it is drawn: rounded to whole numbers and held in its bounds.

A load can be promised only if the mean is that of the draws. For run times in milliseconds rounding
does not matter, but for one to eight pods it does. The mean of whole draws is the lowest of them
plus, for each whole number above it, the part of draws that reach it; far from the start, where the
curve is flat from one number to the next, the area under it is the same.
"""

from fractions import Fraction
from functools import lru_cache
from math import fsum, inf
from typing import Final

from fairlead.sim.work.draw_number import middle_of
from fairlead.sim.work.number import (
    Curve,
    Empirical,
    Exponential,
    LogNormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
    whole_weights,
)
from fairlead.sim.work.portable_math import exp, log, normal_below, power_of

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
        case LogNormal():
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
        case LogNormal():
            rest = 0.0 if at_most is None else _lognormal_excess(curve, at_most)
            return _lognormal_excess(curve, start) - rest
        case Weibull():
            end = inf if at_most is None else float(at_most)
            return _weibull_area_until(curve, end) - _weibull_area_until(curve, start)
        case Pareto():
            return _pareto_area(curve, start, at_most)


def _lognormal_excess(curve: LogNormal, x: float) -> float:
    """By how much a draw is above *x*, on average, counting 0 where it is below."""
    sigma = float(curve.sigma)
    deviations = _deviations(curve, x)
    mean = middle_of(curve) * exp(sigma * sigma / 2.0)
    return mean * normal_below(sigma - deviations) - x * normal_below(-deviations)


def _weibull_area_until(curve: Weibull, x: float) -> float:
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


def _pareto_area(curve: Pareto, start: float, at_most: int | None) -> float:
    slope = float(curve.alpha) - 1.0
    if slope == 0.0:
        assert at_most is not None
        return curve.at_least * log(at_most / start)
    rest = 0.0 if at_most is None else power_of(curve.at_least / at_most, slope)
    return curve.at_least / slope * (power_of(curve.at_least / start, slope) - rest)


def _deviations(curve: LogNormal, x: float) -> float:
    return log(x / middle_of(curve)) / float(curve.sigma)


def _stretched(curve: Weibull, x: float) -> float:
    return power_of(x / float(curve.scale), float(curve.shape))
