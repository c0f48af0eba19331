"""A seal is another one for any other row, key, or row before it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.file.row_seal import BEFORE_ALL, long_seal, seal_of, short_seal

KEY = st.integers(-(2**63), 2**63 - 1)
PLACE_BITS = 128  # of the key before, and of the key


def plain_crc_16(content: bytes) -> int:
    """By the book, bit for bit: polynomial x^16 + x^12 + x^5 + 1, all ones to begin with."""
    rest = 0xFFFF
    for byte in content:
        rest ^= byte << 8
        for _ in range(8):
            rest = rest << 1 ^ (0x11021 if rest & 0x8000 else 0)
    return rest


@given(previous=KEY, key=KEY, body=st.binary(max_size=99))
def test_a_short_seal_is_the_checksum_of_both_keys_and_the_row(
    previous: int, key: int, body: bytes
) -> None:
    content = previous.to_bytes(8, signed=True) + key.to_bytes(8, signed=True) + body
    assert short_seal(previous, key, body) == plain_crc_16(content).to_bytes(2)


@given(row=st.binary(min_size=16, max_size=800), bit=st.integers(0, 2**16))
def test_no_single_bit_of_a_row_or_its_place_is_overlooked(row: bytes, bit: int) -> None:
    bit %= 8 * len(row)
    changed = (int.from_bytes(row) ^ 1 << bit).to_bytes(len(row))
    assert sealed(short_seal, row) != sealed(short_seal, changed)
    assert sealed(long_seal, row) != sealed(long_seal, changed)


@given(
    row=st.binary(min_size=24, max_size=800),
    wrong=st.integers(1, 2**32 - 1),
    place=st.integers(0, 2**16),
)
def test_no_wrong_bits_within_a_run_as_long_as_the_checksum_are_overlooked(
    row: bytes, wrong: int, place: int
) -> None:
    short = wrong >> 16 or wrong  # up to 16 bits, and 32 of the long one
    for seal, bits in ((short_seal, short), (long_seal, wrong)):
        room = 8 * len(row) - bits.bit_length()
        changed = (int.from_bytes(row) ^ bits << place % (room + 1)).to_bytes(len(row))
        assert sealed(seal, row) != sealed(seal, changed)


def sealed(seal: Callable[[int, int, bytes], object], row: bytes) -> object:
    previous, key = (int.from_bytes(row[at : at + 8], signed=True) for at in (0, 8))
    return seal(previous, key, row[16:])


def test_every_single_bit_of_a_place_has_a_seal_of_its_own() -> None:
    """129 places for the same row: that of bits all 0, and one more for each bit."""
    place = [b"\0" * 16, *[(1 << bit).to_bytes(16) for bit in range(PLACE_BITS)]]
    assert len({sealed(short_seal, each + b"row") for each in place}) == 1 + PLACE_BITS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("b", "a")),
        (("1",), (1,)),
        (("a",), (b"a",)),
        ((), ("",)),
        ((BEFORE_ALL,), (None,)),
    ],
)
def test_other_parts_are_sealed_otherwise(
    one: tuple[object, ...], other: tuple[object, ...]
) -> None:
    assert seal_of(*one) != seal_of(*other)
