"""How wide an interval must be when only a few runs were made.

For whole degrees of freedom the distribution of Student's t is a finite sum of powers of a cosine
(one sum for odd, one for even numbers), so no table and no library is needed.
"""

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt

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
