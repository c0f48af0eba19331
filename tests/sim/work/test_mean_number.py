"""The mean that is promised is the mean of what is drawn."""

import math
from decimal import Decimal
from fractions import Fraction
from math import erf, exp, gamma, isclose, log, sqrt
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.work.number import (
    Curve,
    Empirical,
    Exponential,
    Lognormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
    drawing,
    mean_number,
)
from tests.scale_examples import scale_examples

HOUR = 3_600_000


def mean(number: Number, lowest: int = 0) -> float:
    found = mean_number(number, lowest=lowest)
    assert found is not None
    return float(found)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (7, Fraction(7)),
        (Uniform(at_least=1, at_most=8), Fraction(9, 2)),
        # 1 * 4 + 2 * 2 + 4 * 1 = 12, of a weight of 7
        (Empirical(values=((1, 4), (2, 2), (4, 1))), Fraction(12, 7)),
        # 0.8 * 1 + 0.2 * 8
        (Empirical(values=((1, Decimal("0.8")), (8, Decimal("0.2")))), Fraction(12, 5)),
    ],
)
def test_means_of_whole_numbers_are_exact(number: Number, exact: Fraction) -> None:
    assert mean_number(number, lowest=0) == exact


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (Exponential(mean=HOUR), HOUR),
        (Lognormal(mean=HOUR, sigma=2), HOUR),
        (Lognormal(median=HOUR, sigma=1), HOUR * exp(0.5)),
        (Weibull(scale=HOUR, shape=Decimal("0.5")), 2 * HOUR),  # gamma(1 + 2) = 2
        (Weibull(scale=HOUR, shape=3), HOUR * gamma(4 / 3)),
        (Pareto(at_least=HOUR, alpha=3), HOUR * 3 / 2),  # alpha / (alpha - 1)
        # An hour, of which a part of 1/e is cut off: 1 - 1/e of the mean is left.
        (Exponential(mean=HOUR, at_most=HOUR), HOUR * (1 - exp(-1))),
        # an hour, and one more for each e-fold up to ten hours: ln 10
        (Pareto(at_least=HOUR, alpha=1, at_most=10 * HOUR), HOUR * (1 + log(10))),
        # 1 + (1 - 10**-0.5) / 0.5 of at_least with alpha 1.5
        (Pareto(at_least=HOUR, alpha=Decimal("1.5"), at_most=10 * HOUR), HOUR * (3 - 2 / sqrt(10))),
    ],
)
def test_long_durations_have_the_mean_of_the_textbook(number: Number, exact: float) -> None:
    assert isclose(mean(number), exact, rel_tol=1e-9)


@pytest.mark.parametrize("alpha", [Decimal("0.5"), 1, Decimal("1.0")])
def test_a_tail_without_end_that_is_too_heavy_has_no_mean(alpha: int | Decimal) -> None:
    assert mean_number(Pareto(at_least=1, alpha=alpha), lowest=0) is None
    assert mean_number(Pareto(at_least=1, alpha=alpha, at_most=9), lowest=0) is not None


def above(curve: Curve, x: float) -> float:
    """The part of a curve above *x*, from the textbook and by the library of this platform."""
    match curve:
        case Exponential(mean=centre):
            return exp(-x / float(centre))
        case Lognormal(median=middle, sigma=sigma):
            assert middle is not None
            return 0.5 - 0.5 * erf(log(x / float(middle)) / float(sigma) / sqrt(2))
        case Weibull(scale=scale, shape=shape):
            return exp(-math.pow(x / float(scale), float(shape)))
        case Pareto(at_least=at_least, alpha=alpha):
            return math.pow(min(at_least / x, 1.0), float(alpha))


@pytest.mark.parametrize("lowest", [0, 1, 5])
@pytest.mark.parametrize(
    "curve",
    [
        Exponential(mean=3, at_most=8),
        Exponential(mean=400, at_most=2_000),
        Lognormal(median=2, sigma=1, at_most=64),
        Lognormal(median=100, sigma=2, at_most=3_000),
        Weibull(scale=4, shape=2, at_most=10),
        Weibull(scale=50, shape=Decimal("0.5"), at_most=3_000),
        Pareto(at_least=2, alpha=Decimal("0.5"), at_most=2_000),
        Pareto(at_least=1, alpha=3, at_most=1_000),
    ],
)
def test_small_numbers_have_the_mean_of_their_rounded_draws(curve: Curve, lowest: int) -> None:
    """Sums each whole number times the part of the curve that is rounded to it."""
    assert curve.at_most is not None
    low, high = max(lowest, curve.at_least), curve.at_most
    parts = [1.0, *(above(curve, each - 0.5) for each in range(low + 1, high + 1)), 0.0]
    exact = sum(each * (parts[each - low] - parts[each - low + 1]) for each in range(low, high + 1))
    assert isclose(mean(curve, lowest), exact, rel_tol=1e-6)


@pytest.mark.parametrize(
    "number",
    [
        Exponential(mean=5, at_most=12),
        Lognormal(median=3, sigma=1, at_most=32),
        Lognormal(mean=HOUR, sigma=1, at_least=60_000, at_most=12 * HOUR),
        Weibull(scale=HOUR, shape=Decimal("0.7"), at_most=4 * HOUR),
        Pareto(at_least=1, alpha=1, at_most=100),
    ],
)
def test_the_mean_of_many_draws_is_the_promised_one(number: Number) -> None:
    """The spread of each is below twice its mean: that of 40,000 draws is below 1 %."""
    draw = drawing(number, Random(11), lowest=1)
    found = sum(draw() for _ in range(40_000)) / 40_000
    assert isclose(found, mean(number, lowest=1), rel_tol=0.02)


real = st.decimals("1E-30", 10**9, places=30)


@settings(max_examples=scale_examples(60))
@given(
    low=st.integers(1, 10**6),
    width=st.integers(0, 10**12),
    centre=real,
    sigma=st.decimals("1E-9", 10, places=9),
    shape=st.decimals("0.1", 100, places=3),
)
def test_a_mean_lies_within_the_bounds(
    low: int, width: int, centre: Decimal, sigma: Decimal, shape: Decimal
) -> None:
    high = low + width
    for curve in (
        Exponential(mean=centre, at_least=low, at_most=high),
        Lognormal(mean=centre, sigma=sigma, at_least=low, at_most=high),
        Lognormal(median=centre, sigma=sigma, at_least=low, at_most=high),
        Weibull(scale=centre, shape=shape, at_least=low, at_most=high),
        Pareto(at_least=low, alpha=shape, at_most=high),
    ):
        assert low * (1 - 1e-9) <= mean(curve) <= high * (1 + 1e-9)
