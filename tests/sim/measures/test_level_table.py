"""Two numbers tell a total at any time, quantiles are values, and Jain's index is even at 1."""

from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.measures.measures import jain_index, quantile
from fairlead.sim.measures.queue_books import LevelTable

changes = st.lists(st.tuples(st.integers(0, 50), st.integers(-9, 9)), max_size=20)


@given(changes, st.integers(0, 20))
def test_a_total_is_the_sum_over_every_moment(added: list[tuple[int, int]], later_ms: int) -> None:
    table = LevelTable(3, 1)
    for at_ms, amount in added:
        table.add(at_ms, (1, 2), [amount])
    end_ms = 50 + later_ms
    expected = sum(sum(amount for at_ms, amount in added if at_ms <= t) for t in range(end_ms))
    assert [table.total(end_ms, 0, holder) for holder in range(3)] == [0, expected, expected]


@given(changes, st.lists(st.integers(0, 60), min_size=1, max_size=5))
def test_buckets_add_up_to_totals(added: list[tuple[int, int]], ends_ms: list[int]) -> None:
    """Whoever had nothing of it in a bucket may be left out of it."""
    table = LevelTable(3, 1)
    added.sort()
    in_buckets, begun_ms = [0, 0, 0], 0
    for end_ms in sorted(ends_ms):
        for at_ms, amount in added:
            if begun_ms <= at_ms < end_ms:
                table.add(at_ms, (1, 2), [amount])
        begun_ms = end_ms
        (row,) = table.close_bucket(end_ms)
        in_buckets = [*map(add, in_buckets, row or [0, 0, 0])]
    assert in_buckets == [table.total(begun_ms, 0, holder) for holder in range(3)]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=20))
def test_what_is_set_replaces_what_was(told: list[tuple[int, int]]) -> None:
    told.sort(key=lambda each: each[0])
    table = LevelTable(1, 1)
    for at_ms, amount in told:
        table.set_all(at_ms, [[amount]])
    levels = [next((a for at, a in reversed(told) if at <= t), 0) for t in range(60)]
    assert table.total(60, 0, 0) == sum(levels)
    assert table.levels == [[levels[-1]]]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=20))
def test_one_holder_is_set_as_all_are(told: list[tuple[int, int]]) -> None:
    told.sort(key=lambda each: each[0])
    one, everybody = LevelTable(2, 1), LevelTable(2, 1)
    for at_ms, amount in told:
        is_other = everybody.levels[0][1] != amount
        everybody.set_all(at_ms, [[0, amount]])
        assert one.set_one(at_ms, 1, [amount]) == is_other
    assert one.levels == everybody.levels
    assert one.total(60, 0, 1) == everybody.total(60, 0, 1)


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [
        ("", 50, None),
        ("7", 1, 7),
        ("7", 99, 7),
        ("1 2", 50, 1),  # rank 1
        ("1 2", 51, 2),  # rank 1.02, so 2
        ("1 2 3 4 5 6 7 8 9 10", 90, 9),  # rank 9
        ("1 2 3 4 5 6 7 8 9 10", 91, 10),  # rank 9.1, so 10
        ("1 2 3 4 5 6 7 8 9 10", 100, 10),
        ("1 2 3", 0, 1),  # never before the first
    ],
)
def test_a_quantile_is_the_first_value_that_so_many_do_not_exceed(
    values: str, percent: int, found: int | None
) -> None:
    assert quantile([int(value) for value in values.split()], percent) == found


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30).map(sorted), st.integers(1, 100))
def test_enough_values_are_not_above_a_quantile_and_no_smaller_one_would_do(
    values: list[int], percent: int
) -> None:
    found = quantile(values, percent)
    assert found in values
    assert 100 * sum(value <= found for value in values) >= percent * len(values)
    assert 100 * sum(value < found for value in values) < percent * len(values)


@pytest.mark.parametrize(
    ("received", "due", "index"),
    [
        ([], [], None),
        ([1], [2], None),
        ([0, 0], [1, 2], None),
        ([3, 3, 3], [4, 4, 4], 1.0),
        ([3, 6, 9], [4, 8, 12], 1.0),  # 0.75 of what is due, each
        ([1, 0, 0, 0], [2, 2, 2, 2], 0.25),  # all for one of four
        ([1, 3], [2, 2], 0.8),  # 4^2 / (4 x (1/2 + 9/2)) = 16 / 20
        ([1, 0], [3, 1], 0.75),  # all for one that was due three quarters
        ([900, 0], [900, 1], 900 / 901),  # who was due next to nothing
    ],
)
def test_the_index_says_how_evenly_it_is_spread(
    received: list[int], due: list[int], index: float | None
) -> None:
    assert jain_index(received, due) == (None if index is None else pytest.approx(index))
