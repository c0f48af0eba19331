"""Half-life decay: exact where it can be, within stated bounds elsewhere."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.decay import decay_factor, decayed
from tests.conformance import published_kueue

HOUR = 3_600_000

FADING = """
    amount  age_ms    half_life_ms  left   why
    1000    0         3600000       1000   nothing has passed
    1000    3600000   3600000       500    one half-life
    1000    7200000   3600000       250    two
    1000    1800000   3600000       707    1000 / sqrt 2 = 707.1
    1000    5400000   3600000       354    1000 / 2 / sqrt 2 = 353.6
    3       3600000   3600000       2      1.5, halves up
    1       3600000   3600000       1      0.5, halves up
    1       3600001   3600000       0      just under 0.5
    1       7200000   3600000       0      0.25
    0       3600000   3600000       0      nothing stays nothing
    1000    3600000   none          1000   without a half-life nothing fades
"""


@pytest.mark.parametrize("row", FADING.strip().splitlines()[1:])
def test_what_is_left(row: str) -> None:
    amount, age_ms, half_life_ms, left, _why = row.split(maxsplit=4)
    half_life = None if half_life_ms == "none" else int(half_life_ms)
    assert decayed(int(amount), int(age_ms), half_life) == int(left)


def test_large_amounts_keep_their_precision() -> None:
    # A float would lose the last digits of this one: it has 63 bits.
    amount = 2**62 + 2
    assert decayed(amount, HOUR, HOUR) == 2**61 + 1


def test_an_age_beyond_all_measure_leaves_nothing() -> None:
    assert decayed(2**60, 10**30, 1) == 0


amounts = st.integers(0, 2**70)
ages = st.integers(0, 20 * HOUR)
half_lives = st.integers(1, 3 * HOUR)


@given(amount=amounts, age_ms=ages)
def test_without_a_half_life_nothing_fades(amount: int, age_ms: int) -> None:
    assert decayed(amount, age_ms, None) == amount
    assert decay_factor(age_ms, None) == 1.0


@given(amount=amounts, half_lives_passed=st.integers(0, 80), half_life_ms=half_lives)
def test_whole_half_lives_are_exact(amount: int, half_lives_passed: int, half_life_ms: int) -> None:
    left = decayed(amount, half_lives_passed * half_life_ms, half_life_ms)
    assert abs(Fraction(amount, 2**half_lives_passed) - left) <= Fraction(1, 2)


@given(amount=amounts, older=ages, younger=ages, half_life_ms=half_lives)
def test_older_is_never_more(amount: int, older: int, younger: int, half_life_ms: int) -> None:
    younger, older = sorted([younger, older])
    assert decayed(amount, older, half_life_ms) <= decayed(amount, younger, half_life_ms)
    assert decay_factor(older, half_life_ms) <= decay_factor(younger, half_life_ms)


@given(amount=amounts, more=amounts, age_ms=ages, half_life_ms=half_lives)
def test_more_used_is_never_less_left(
    amount: int, more: int, age_ms: int, half_life_ms: int
) -> None:
    assert decayed(amount, age_ms, half_life_ms) <= decayed(amount + more, age_ms, half_life_ms)


@given(amount=amounts, first_ms=ages, then_ms=ages, half_life_ms=half_lives)
def test_two_steps_differ_from_one_by_rounding_only(
    amount: int, first_ms: int, then_ms: int, half_life_ms: int
) -> None:
    stepwise = decayed(decayed(amount, first_ms, half_life_ms), then_ms, half_life_ms)
    at_once = decayed(amount, first_ms + then_ms, half_life_ms)
    assert abs(stepwise - at_once) <= 2 + amount / 2**46


@given(amount=amounts, age_ms=ages, half_life_ms=half_lives)
def test_the_factor_tells_what_is_left(amount: int, age_ms: int, half_life_ms: int) -> None:
    exact = Fraction(decay_factor(age_ms, half_life_ms)) * amount
    assert abs(decayed(amount, age_ms, half_life_ms) - exact) <= Fraction(1, 2) + exact / 2**47


@pytest.mark.parametrize(("value", "status"), [(5, "passed"), (5.00000000001, "failed")])
def test_a_published_decay_is_checked_within_its_tolerance(value: float, status: str) -> None:
    given = {"halfLifeHours": 24, "ageHours": 24, "amount": 10}
    entry = {"id": "e", "kind": "decay", "input": given, "expected": {"value": value}}
    [outcome] = published_kueue.check({**entry, "tolerance": 1e-12})
    assert outcome.status == status
