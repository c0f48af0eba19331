"""Levels as bytes: as few as promised, and never other levels than were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.file.entry_rows import (
    CAPACITY,
    GUARANTEE,
    HELD,
    DamagedRowError,
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
    plain = st.builds(Level, kinds, holders, vectors)
    bounded = st.builds(Level, st.just(GUARANTEE), holders, limits)
    return count, draw(st.lists(plain | bounded, min_size=1, max_size=64))


@given(key=st.integers(-(2**60), 2**60), row=rows())
def test_what_is_packed_is_unpacked(key: int, row: tuple[int, list[Level]]) -> None:
    count, levels = row
    assert list(unpacked(key, packed(key, count, levels))) == levels


SIZES = {
    # 2 of checksum, 1 of count, then the holder and the amounts; 128 is the first of two bytes
    "holder 31 is 31 * 4 = 124": (Level(HELD, 31, (0,)), 2 + 1 + 1 + 1),
    "holder 32 is 32 * 4 = 128": (Level(HELD, 32, (0,)), 2 + 1 + 2 + 1),
    "20 cores are 40,000, 80 GiB are 163,841, 5 GPUs are 10,000": (
        Level(HELD, 1_000, (20_000, 80 * GIB, 5_000)),
        2 + 1 + 2 + 3 + 3 + 2,
    ),
    "a byte more than 80 GiB is 2 ** 38 about": (
        Level(HELD, 1_000, (20_000, 80 * GIB + 1, 5_000)),
        2 + 1 + 2 + 3 + 6 + 2,
    ),
    "no limit is 0": (Level(GUARANTEE, 1, (None, None)), 2 + 1 + 1 + 1 + 1),
}


@pytest.mark.parametrize(("level", "size"), SIZES.values(), ids=SIZES)
def test_a_level_takes_few_bytes(level: Level, size: int) -> None:
    assert len(packed(0, len(level.amounts), [level])) == size


@given(row=rows(), place=st.integers(0, 2**20), bit=st.integers(0, 7))
def test_a_changed_bit_is_noticed(row: tuple[int, list[Level]], place: int, bit: int) -> None:
    data = bytearray(packed(5, *row))
    data[place % len(data)] ^= 1 << bit
    with pytest.raises(DamagedRowError):
        list(unpacked(5, bytes(data)))


def test_a_row_in_another_place_is_noticed() -> None:
    row = packed(5, 1, [Level(HELD, 1, (7,))])
    with pytest.raises(DamagedRowError):
        list(unpacked(6, row))
