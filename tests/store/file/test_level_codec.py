"""Levels as bytes: as few as promised, and the same levels again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.file.level_codec import (
    CAPACITY,
    GUARANTEE,
    HELD,
    Level,
    packed,
    unpacked,
)

GIB = 2**30
amounts = st.integers(0, 2**70) | st.integers(0, 2**20).map(lambda mib: mib << 20)
kinds = st.sampled_from([HELD, CAPACITY])


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, list[Level]]:
    count = draw(st.integers(0, 4))
    vectors = st.tuples(*[amounts] * count)
    limits = st.tuples(*[st.none() | amounts] * count)
    holders = st.integers(0, 2**20)
    plain = st.tuples(kinds, holders, vectors)
    bounded = st.tuples(st.just(GUARANTEE), holders, limits)
    return count, draw(st.lists(plain | bounded, min_size=1, max_size=64))


@given(row=rows())
def test_what_is_packed_is_unpacked(row: tuple[int, list[Level]]) -> None:
    count, levels = row
    assert unpacked(packed(count, levels)) == levels


SIZES = {
    # 1 of count, then the holder and the amounts; 128 is the first of two bytes
    "holder 31 is 31 * 4 = 124": ((HELD, 31, (0,)), 1 + 1 + 1),
    "holder 32 is 32 * 4 = 128": ((HELD, 32, (0,)), 1 + 2 + 1),
    "20 cores are 40,000, 80 GiB are 163,841, 5 GPUs are 10,000": (
        (HELD, 1_000, (20_000, 80 * GIB, 5_000)),
        1 + 2 + 3 + 3 + 2,
    ),
    "a byte more than 80 GiB is 2 ** 38 about": (
        (HELD, 1_000, (20_000, 80 * GIB + 1, 5_000)),
        1 + 2 + 3 + 6 + 2,
    ),
    "no limit is 0": ((GUARANTEE, 1, (None, None)), 1 + 1 + 1 + 1),
}


@pytest.mark.parametrize(("level", "size"), SIZES.values(), ids=SIZES)
def test_a_level_takes_few_bytes(level: Level, size: int) -> None:
    assert len(packed(len(level[2]), [level])) == size
