"""Draws lie where they should, as often as they should, and are the same everywhere."""

import math
from collections import Counter
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.work.number import (
    HIGHEST,
    Curve,
    Empirical,
    Exponential,
    Lognormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
    drawing,
)
from tests.scale_examples import scale_examples

HALF = Decimal("0.5")


def draws(number: Number, count: int, *, lowest: int = 0, seed: int = 1) -> list[int]:
    draw = drawing(number, Random(seed), lowest=lowest)
    return [draw() for _ in range(count)]


def plain(curve: Curve, above: float) -> float:
    """The number that a part *above* of all draws exceeds, by the library of this platform."""
    match curve:
        case Exponential(mean=mean):
            return -float(mean) * math.log(above)
        case Weibull(scale=scale, shape=shape):
            return float(scale) * math.pow(-math.log(above), 1 / float(shape))
        case Pareto(at_least=at_least, alpha=alpha):
            return at_least / math.pow(above, 1 / float(alpha))
        case Lognormal():
            raise AssertionError("drawn in another way")


@pytest.mark.parametrize(
    "curve",
    [
        Exponential(mean=3_600_000),
        Exponential(mean=5, at_least=2, at_most=9),
        Weibull(scale=7_200_000, shape=HALF),
        Weibull(scale=100, shape=3, at_most=120),
        Pareto(at_least=1_000, alpha=Decimal("1.1")),
        Pareto(at_least=10, alpha=1, at_most=1_000),
    ],
)
def test_curves_equal_the_plain_inverse(curve: Curve) -> None:
    """But for one unit, and a part of 1e-12 of very large ones."""
    random = Random(1)
    high = HIGHEST if curve.at_most is None else curve.at_most
    for drawn in draws(curve, 2_000):
        exact = min(max(plain(curve, 1.0 - random.random()), curve.at_least), high)
        assert abs(drawn - exact) <= 0.5 + 1e-12 * exact + 1e-6


# The part of draws that should lie below, in percent, and the number it should lie below:
# exponential -ln(1 - p) * mean; lognormal median * e**(sigma * z), z = 0 and 1;
# Weibull scale * (-ln(1 - p))**(1 / shape); Pareto at_least / (1 - p)**(1 / alpha).
QUANTILES = [
    (Exponential(mean=100_000), 50.0, 69_315),  # ln 2 = 0.69315
    (Exponential(mean=100_000), 90.0, 230_259),  # ln 10 = 2.30259
    (Lognormal(median=60_000, sigma=1), 50.0, 60_000),
    (Lognormal(median=60_000, sigma=1), 84.134, 163_097),  # 60,000 * 2.71828
    (Lognormal(mean=60_000, sigma=1), 50.0, 36_392),  # 60,000 / e**0.5
    (Weibull(scale=10_000, shape=HALF), 63.212, 10_000),
    (Weibull(scale=10_000, shape=2), 25.0, 5_364),  # 10,000 * sqrt(0.28768)
    (Pareto(at_least=1_000, alpha=2), 75.0, 2_000),  # (1 / 2)**2 are above
    (Uniform(at_least=0, at_most=9_999), 30.0, 3_000),
]


@pytest.mark.parametrize(("number", "percent", "below"), QUANTILES)
def test_so_many_draws_lie_below(number: Number, percent: float, below: int) -> None:
    """Of 20,000 draws the spread is at most 0.36 percent points; 1.2 is more than three of it."""
    count = sum(each < below for each in draws(number, 20_000))
    assert abs(count / 200 - percent) < 1.2


def test_what_lies_outside_of_the_bounds_is_moved_to_them() -> None:
    """ln(2) * 100 = 69: half of the draws are above it, and a tenth below 10.5."""
    found = Counter(draws(Exponential(mean=100, at_least=11, at_most=69), 10_000))
    assert min(found) == 11
    assert max(found) == 69
    assert 4_800 < found[69] < 5_200
    assert 900 < found[11] < 1_300


def test_the_lowest_of_the_caller_holds_as_well() -> None:
    assert min(draws(Exponential(mean=2), 1_000, lowest=1)) == 1
    assert min(draws(Exponential(mean=2), 1_000, lowest=0)) == 0


def test_the_heaviest_tail_stays_below_the_highest() -> None:
    found = draws(Pareto(at_least=1_000_000, alpha=Decimal("0.1")), 1_000)
    assert max(found) == HIGHEST


def test_a_uniform_number_reaches_both_of_its_ends_equally_often() -> None:
    found = Counter(draws(Uniform(at_least=3, at_most=6), 8_000))
    assert sorted(found) == [3, 4, 5, 6]
    assert all(1_850 < count < 2_150 for count in found.values())


def test_seen_numbers_come_by_weight_and_those_of_weight_0_never() -> None:
    sizes = Empirical(
        values=((1, Decimal("0.5")), (2, 0), (4, Decimal("0.3")), (8, Decimal("0.2")))
    )
    found = Counter(draws(sizes, 10_000))
    assert sorted(found) == [1, 4, 8]
    assert abs(found[1] - 5_000) < 150
    assert abs(found[4] - 3_000) < 150


def test_a_plain_number_takes_nothing_from_the_stream() -> None:
    stream = Random(5)
    assert drawing(7, stream, lowest=0)() == 7
    assert stream.random() == Random(5).random()


GOLDEN: list[tuple[Number, list[int]]] = [
    (Exponential(mean=3_600_000), [456601, 2513489, 2581476, 7078021]),
    (Lognormal(median=3_600_000, sigma=Decimal("1.5")), [752817, 3808843, 2316519, 85374524]),
    (Weibull(scale=3_600_000, shape=Decimal("0.7")), [188456, 2154810, 2238554, 9456806]),
    (Pareto(at_least=60_000, alpha=Decimal("1.2")), [66689, 107358, 109061, 308825]),
    (Uniform(at_least=0, at_most=3_600_000), [428831, 1809057, 1842562, 3096002]),
    (Empirical(values=((1, 4), (2, 2), (4, 1))), [1, 1, 1, 4]),
]


@pytest.mark.parametrize(("number", "expected"), GOLDEN)
def test_the_first_draws_are_these_on_every_machine(number: Number, expected: list[int]) -> None:
    assert draws(number, 4, seed=2026) == expected


@settings(max_examples=scale_examples(60))
@given(
    low=st.integers(0, 10_000),
    width=st.integers(0, 10_000),
    mean=st.decimals("0.01", 100_000, places=2),
    sigma=st.decimals("0.01", 10, places=2),
    shape=st.decimals("0.1", 100, places=1),
    seed=st.integers(0, 2**32),
)
def test_no_draw_leaves_its_bounds(
    low: int, width: int, mean: Decimal, sigma: Decimal, shape: Decimal, seed: int
) -> None:
    high = low + width
    for number in (
        Uniform(at_least=low, at_most=high),
        Exponential(mean=mean, at_least=low, at_most=high),
        Lognormal(mean=mean, sigma=sigma, at_least=low, at_most=high),
        Weibull(scale=mean, shape=shape, at_least=low, at_most=high),
        Pareto(at_least=max(low, 1), alpha=shape, at_most=max(high, 1)),
    ):
        assert all(low <= each <= max(high, 1) for each in draws(number, 20, seed=seed))
