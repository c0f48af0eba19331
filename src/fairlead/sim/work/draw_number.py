"""Drawing whole numbers from distributions, the same on every machine.

Every purpose of every source of work draws from a stream of its own, which depends on the seed and
the purpose alone: one more source changes nothing about the others. The curves turn ``random()``,
which is the same everywhere, into a number by `portable_math`, which is so too; a float lives for
one line only and is rounded to a whole number at its end.
"""

from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import Final, TypeAlias

import msgspec

from fairlead.sim.work.number import (
    HIGHEST,
    Curve,
    Empirical,
    Exponential,
    LogNormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
    picking,
)
from fairlead.sim.work.portable_math import exp, log, normal_from, power_of


def random_stream(seed: int, source: str, purpose: str, index: int = 0) -> Random:
    """The stream of a purpose; of it only ``random()`` may be used.

    Python promises the same sequence of ``random()`` for a seed in all versions, and of nothing
    else. The digest makes a whole number, the plainest kind of seed, of names of any kind; it
    knows nothing of the process, its hash seed, its locale or its time zone.
    """
    digest = sha256(msgspec.json.encode([seed, source, purpose, index])).digest()
    return Random(int.from_bytes(digest, "big"))


Draw: TypeAlias = Callable[[], int]

_STEPS: Final = 2**53  # random() is a whole number of these


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


def middle_of(curve: LogNormal) -> float:
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
        case LogNormal():
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
