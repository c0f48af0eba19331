"""One number for how evenly something is spread: Jain's index."""

from collections.abc import Sequence
from math import fsum


def jain_index(values: Sequence[float]) -> float | None:
    """The square of the sum over n times the sum of squares: 1 is even, 1/n is all for one.

    None for fewer than two values, which cannot be uneven, and where all are 0. The order of the
    values does not matter, down to the last bit.
    """
    squares = fsum(value * value for value in values)
    if len(values) < 2 or squares == 0:
        return None
    return fsum(values) ** 2 / (len(values) * squares)
