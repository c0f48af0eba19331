"""Packs levels into the body of one row, in few bytes.

Nearly all entries of a store are levels. A year of a thousand queues that change every half hour
has 17.5 million of them, so each byte of one costs 17 MB. A row has the levels of one moment that
were written together, at most `MOST_IN_ROW`:

    count          how many amounts each level has
    level, ...     holder * 4 + kind, then the amounts

Numbers are varints: seven bits to a byte, the low ones first, the top bit set on all but the last.
An amount is doubled; an amount of whole MiB is counted in MiB and doubled plus one, because memory
mostly is and would need six bytes otherwise. A limit is one more, and 0 means no limit.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from fairlead.model.axes import Limits

Level: TypeAlias = tuple[int, int, Limits]
"""One level: its kind, the number of its holder (0 for the capacity), and the amounts."""

HELD: Final = 0
GUARANTEE: Final = 1
CAPACITY: Final = 2
MOST_IN_ROW: Final = 64  # four or five such rows fill a page, and none needs more than one

_MIB_BITS = 20
_MIB = 1 << _MIB_BITS


def packed(count: int, levels: Sequence[Level]) -> bytes:
    """Return *levels*, with *count* amounts each, as bytes."""
    parts = [_varint(count)]
    for kind, holder, amounts in levels:
        parts.append(_packed_tag(holder << 2 | kind))
        parts.append(_packed_amounts(amounts, kind == GUARANTEE))
    return b"".join(parts)


def unpacked(row: bytes) -> list[Level]:
    """Return the levels that `packed` made *row* from."""
    numbers = _varints(row)
    count = numbers[0]
    levels: list[Level] = []
    for at in range(1, len(numbers), count + 1):
        tag = numbers[at]
        values = numbers[at + 1 : at + 1 + count]
        if tag & 3 == GUARANTEE:
            amounts: Limits = tuple([_limit(each) for each in values])
        else:
            amounts = tuple([each >> 1 << _MIB_BITS if each & 1 else each >> 1 for each in values])
        levels.append((tag & 3, tag >> 2, amounts))
    return levels


# The same holders change again and again.
@lru_cache(maxsize=2**14)
def _packed_tag(tag: int) -> bytes:
    return _varint(tag)


# Pods come in few sizes, so most amounts of a tick were packed before.
@lru_cache(maxsize=4096)
def _packed_amounts(amounts: Limits, are_limits: bool) -> bytes:
    more = 1 if are_limits else 0
    return b"".join(
        [_varint(0 if amount is None else _scaled(amount) + more) for amount in amounts]
    )


def _scaled(amount: int) -> int:
    if amount and not amount % _MIB:
        return amount >> _MIB_BITS << 1 | 1
    return amount << 1


def _limit(number: int) -> int | None:
    if not number:
        return None
    number -= 1
    return number >> 1 << _MIB_BITS if number & 1 else number >> 1


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def _varints(row: bytes) -> list[int]:
    numbers = []
    number = shift = 0
    for byte in row:
        if byte < 128:
            numbers.append(number | byte << shift)
            number = shift = 0
        else:
            number |= (byte & 127) << shift
            shift += 7
    return numbers
