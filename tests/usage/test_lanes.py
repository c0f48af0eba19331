"""Numbers side by side are added, multiplied, halved and written as each by itself."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.usage.lanes import FRACTION_BITS, TOO_MUCH, WIDTH, Lanes

LANES = Lanes(3)
LARGEST = 2 ** (WIDTH - FRACTION_BITS - 1) - 1  # the smallest is one further from 0

numbers = (
    st.integers(-5, 5)
    | st.integers(-(2**170), 2**170)
    | st.integers(LARGEST - 5, LARGEST)
    | st.integers(-LARGEST - 1, -LARGEST + 5)
)
triples = st.tuples(numbers, numbers, numbers)
small = st.integers(-(2**100), 2**100)
offsets = st.tuples(*[small | st.integers(-LARGEST // 2, LARGEST // 2)] * 3)


@given(values=triples)
def test_what_is_packed_is_found_in_its_lane(values: tuple[int, int, int]) -> None:
    assert LANES.values(LANES.packed(values)) == values


@given(
    one=st.tuples(small, small, small),
    other=st.tuples(small, small, small),
    factor=small,
)
def test_one_operation_is_done_to_every_lane(
    one: tuple[int, ...], other: tuple[int, ...], factor: int
) -> None:
    found = LANES.values(LANES.packed(one) * factor - LANES.packed(other))
    assert found == tuple(a * factor - b for a, b in zip(one, other, strict=True))


@given(rows=st.lists(triples, max_size=4))
def test_columns_are_what_is_in_each_lane(rows: list[tuple[int, int, int]]) -> None:
    expected = [[row[lane] for row in rows] for lane in range(3)]
    assert LANES.columns([LANES.packed(row) for row in rows]) == expected


@given(values=triples, times=st.integers(0, 300))
def test_halves_are_rounded_toward_nothing(values: tuple[int, ...], times: int) -> None:
    halved = LANES.values(LANES.halved(LANES.packed(values), times))
    assert halved == tuple((abs(v) >> times) * (1 if v > 0 else -1) for v in values)


@given(values=triples, by=st.integers(1, 2**120), factor=st.integers(1, 2**20))
def test_a_quotient_is_rounded_down_to_a_small_part(
    values: tuple[int, ...], by: int, factor: int
) -> None:
    quotient = LANES.divided(LANES.packed(values), by)
    assert LANES.values(quotient) == tuple(value // by for value in values)
    parts = LANES.values(LANES.divided(LANES.packed((7, -7, 0)), 3 * factor) * factor)
    assert all(
        abs(part - exact) <= 1 + factor / 2**FRACTION_BITS
        for part, exact in zip(parts, (7 / 3, -7 / 3, 0), strict=True)
    )


@given(rows=st.lists(offsets, min_size=1, max_size=20))
def test_numbers_come_back_from_bytes(rows: list[tuple[int, ...]]) -> None:
    packed = [LANES.packed(row) for row in rows]
    assert LANES.from_bytes(LANES.to_bytes(packed)) == packed


def test_numbers_without_lanes_come_back() -> None:
    none = Lanes(0)
    assert none.from_bytes(none.to_bytes([0, 0])) == [0, 0]
    assert none.values(0) == ()


def test_largest_sums_stay_in_their_lane() -> None:
    """As many holders as there may be, each with the largest amount for the longest time."""
    holders, weight = 2**24, 2**114
    used = (TOO_MUCH - 1) * weight * holders
    granted = used  # a grant is as large as an amount, and its time weighs as much
    assert used + granted <= LARGEST
    assert -granted >= -LARGEST - 1
