"""How many are expected until when: a table of hours against a walk through them."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.work.arrivals import (
    DAY_MS,
    FINENESS,
    HOUR_MS,
    WEEK_MS,
    WeekPattern,
    WeekTable,
)
from tests.scale_examples import scale_examples

OFFICE = WeekPattern(
    by_hour=tuple(int(8 <= hour < 18) for hour in range(24)),
    by_weekday=(1, 1, 1, 1, 1, 0, 0),
)


def expected(table: WeekTable, at_ms: int) -> Fraction:
    return Fraction(table.expected_until(at_ms), table.unit * FINENESS)


def walked(per_hour: Fraction, pattern: WeekPattern, at_ms: int) -> Fraction:
    """Goes from the Monday before the start through every hour, with the rate of each."""
    weights = [Fraction(d) * Fraction(h) for d in pattern.by_weekday for h in pattern.by_hour]
    mean = sum(weights, Fraction(0)) / 168
    left_ms = at_ms + pattern.start_weekday * DAY_MS + pattern.start_hour * HOUR_MS
    total = Fraction(0)
    hour = 0
    while left_ms > 0:
        total += per_hour * weights[hour % 168] / mean * Fraction(min(left_ms, HOUR_MS), HOUR_MS)
        left_ms -= HOUR_MS
        hour += 1
    return total


def test_office_hours_hold_all_of_the_week() -> None:
    """5 an hour are 840 a week; 50 office hours have 16.8 each."""
    table = WeekTable(Fraction(5), OFFICE)
    assert expected(table, 8 * HOUR_MS) == 0
    assert expected(table, 9 * HOUR_MS) == Fraction("16.8")
    assert expected(table, DAY_MS) == 168
    assert expected(table, 5 * DAY_MS) == 840
    assert expected(table, WEEK_MS) == 840
    assert expected(table, 4 * WEEK_MS) == 3_360


def test_the_simulation_starts_where_the_pattern_says() -> None:
    """From Friday 17:00 one office hour is left, then none until Monday 8:00, 63 hours later."""
    friday = WeekPattern(
        by_hour=OFFICE.by_hour, by_weekday=OFFICE.by_weekday, start_weekday=4, start_hour=17
    )
    table = WeekTable(Fraction(5), friday)
    before = expected(table, 0)
    assert expected(table, HOUR_MS) - before == Fraction("16.8")
    assert expected(table, 63 * HOUR_MS) - before == Fraction("16.8")
    assert expected(table, 64 * HOUR_MS) - before == Fraction("33.6")


weights = st.decimals(0, 10, places=2)
patterns = st.builds(
    WeekPattern,
    by_hour=st.tuples(*[weights] * 24).filter(any),
    by_weekday=st.tuples(*[weights] * 7).filter(any),
    start_weekday=st.integers(0, 6),
    start_hour=st.integers(0, 23),
)
rates = st.fractions(Fraction(1, 1_000), 10_000, max_denominator=1_000)


@settings(max_examples=scale_examples(50))
@given(per_hour=rates, pattern=patterns, at_ms=st.integers(0, 2 * WEEK_MS))
def test_the_table_equals_a_walk_through_the_hours(
    per_hour: Fraction, pattern: WeekPattern, at_ms: int
) -> None:
    table = WeekTable(per_hour, pattern)
    assert expected(table, at_ms) == walked(per_hour, pattern, at_ms)


@settings(max_examples=scale_examples(50))
@given(per_hour=rates, pattern=patterns, arrivals=st.fractions(0, 10**6))
def test_a_time_is_the_one_at_which_so_many_are_expected(
    per_hour: Fraction, pattern: WeekPattern, arrivals: Fraction
) -> None:
    table = WeekTable(per_hour, pattern)
    parts = table.expected_until(0) + int(arrivals * FINENESS) * table.unit
    at_ms = table.time_of(parts)
    assert table.expected_until(at_ms) <= parts < table.expected_until(at_ms + 1)


@pytest.mark.parametrize("scale", [Decimal("0.1"), 3, 1_000_000])
def test_only_the_proportions_of_a_pattern_matter(scale: int | Decimal) -> None:
    scaled = WeekPattern(
        by_hour=tuple(each * scale for each in OFFICE.by_hour), by_weekday=OFFICE.by_weekday
    )
    for at_ms in (0, 10 * HOUR_MS + 1, 3 * DAY_MS + 12 * HOUR_MS):
        assert expected(WeekTable(Fraction(7, 3), scaled), at_ms) == expected(
            WeekTable(Fraction(7, 3), OFFICE), at_ms
        )
