"""Logarithm and exponential with the same last bit on every machine.

The results of `math.log` and `math.exp` belong to the platform's library and may differ in the last
bit, so that a run time on the edge between two milliseconds would differ too, and with it all that
follows. IEEE 754 fixes the result of ``+ - * /`` and of the square root to the bit, and taking a
power of two out or putting it back is exact: with these alone every machine computes the same.
"""

from collections.abc import Sequence
from math import frexp, ldexp, sqrt
from typing import Final

_LN_2: Final = 0.6931471805599453
# The same in two parts: the first has so few digits that small multiples of it are exact.
_LN_2_HIGH: Final = 0.693147180369123816490
_LN_2_LOW: Final = 1.90821492927058770002e-10
_SQRT_HALF: Final = 0.7071067811865476
_INVERSE_SQRT_TWO_PI: Final = 0.3989422804014327
_TAIL_ENDS: Final = 8.3  # beyond so many deviations less than 2**-53 is left
_LOWEST_POWER: Final = -700.0  # below it results would soon be subnormal, and rounded twice
_HIGHEST_POWER: Final = 700.0

# 1 / (2k + 1), and 1 / k!, the highest first. Further terms are below the last bit.
_ODD_PARTS: Final = tuple(1.0 / odd for odd in range(23, 0, -2))
_FACTORIALS: Final = (1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600)
_EXP_PARTS: Final = tuple(1.0 / factorial for factorial in reversed(_FACTORIALS))


def log(x: float) -> float:
    """The natural logarithm of *x*, which is positive; within 4 units of the last place.

    Splits off the power of two, and sums 2 artanh((m - 1) / (m + 1)) for the rest.
    """
    mantissa, power = frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa *= 2.0
        power -= 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    return 2.0 * ratio * _polynomial(_ODD_PARTS, ratio * ratio) + power * _LN_2


def exp(x: float) -> float:
    """The exponential of *x*, which is at most 700; 0 where it would be below 1e-304.

    Splits off the power of two, and sums the series of the rest, which is at most ln(2) / 2.
    """
    assert x <= _HIGHEST_POWER
    if x < _LOWEST_POWER:
        return 0.0
    power = round(x / _LN_2)
    rest = x - power * _LN_2_HIGH - power * _LN_2_LOW
    return ldexp(_polynomial(_EXP_PARTS, rest), power)


def power_of(base: float, exponent: float) -> float:
    """*base*, which is not negative, to a power, which is positive if *base* is 0.

    What would be above 1e304 is that.
    """
    return exp(min(exponent * log(base), _HIGHEST_POWER)) if base > 0.0 else 0.0


def normal_below(deviations: float) -> float:
    """The part of a normal distribution that lies below so many standard deviations.

    The sum x + x**3 / 3 + x**5 / (3 * 5) + ... has no cancellation. Cost: some 100 terms at most.
    """
    if abs(deviations) > _TAIL_ENDS:
        return 0.0 if deviations < 0.0 else 1.0
    square = deviations * deviations
    term = total = deviations
    odd = 1
    while abs(term) > abs(total) * 2.0**-54:
        odd += 2
        term *= square / odd
        total += term
    return 0.5 + _INVERSE_SQRT_TWO_PI * exp(-square / 2.0) * total


def normal_from(first: float, second: float) -> float | None:
    """A normal deviate from two numbers drawn evenly from -1 to 1; None: draw both again.

    Marsaglia's polar method. It needs no sine, which machines round differently.
    """
    square = first * first + second * second
    if not 0.0 < square < 1.0:
        return None
    return first * sqrt(-2.0 * log(square) / square)


def _polynomial(factors: Sequence[float], x: float) -> float:
    total = 0.0
    for factor in factors:
        total = total * x + factor
    return total
