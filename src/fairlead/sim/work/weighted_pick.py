"""Drawing one of several by weight, without a rounding that could go either way."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, lcm
from random import Random
from typing import Final, TypeVar

from fairlead.sim.work.work_error import Real, WorkError, real_problem

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
    """Tell the first weight that means nothing, or that nothing can be drawn by all of them."""
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
