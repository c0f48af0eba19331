"""Several whole numbers side by side in one, so that one operation does the work of many.

A queue has a sum for each resource, and all of them grow by the same stretch of time. Most of what
such a step costs is the making of its result, however short that is. So the numbers are laid into
lanes of one long number, the first in the lowest bits: v0 + v1 * 2**width + v2 * 4**width + ...
Adding two such numbers, taking one from another, and multiplying one by a plain number then do the
same to every lane. That is exact whatever the values are, negative ones among them; only where
lanes are taken apart again must each of them be within its lane: at least -2**(width - 1), and less
than 2**(width - 1). How wide that has to be:

    a level or a grant         AMOUNT_BITS, see below
    times a weight of time     MARK_BITS, see `timeline`
    of so many holders         HOLDER_BITS: more than fit into memory; or so many grants
    a sign, and twice as much  2, because there are levels and there are grants
    parts of a unit            FRACTION_BITS, for the mean of a level over some time

Kubernetes counts an amount in 63 bits. A level is the sum of many of those, over all pods of a
queue or all nodes, and a grant is an amount times milliseconds; Prometheus may report up to 10**34.
All of that has far less than 40 digits, and longer numbers are refused. Sums over time have bits of
their own, so no window and no number of queues makes a lane too narrow.
"""

from collections.abc import Iterable, Sequence
from operator import lshift
from struct import Struct
from typing import Final

from fairlead.usage.timeline import MARK_BITS

AMOUNT_BITS: Final = 136  # a little more than 40 digits, for lanes of whole bytes
FRACTION_BITS: Final = 12
HOLDER_BITS: Final = 24
MOST_DIGITS: Final = 40  # of an amount, or of a grant in amounts times milliseconds
TOO_MUCH: Final = 10**MOST_DIGITS
WIDTH: Final = AMOUNT_BITS + MARK_BITS + HOLDER_BITS + 2 + FRACTION_BITS


class Lanes:
    """Lays *count* values into lanes of WIDTH bits, and takes them out again."""

    def __init__(self, count: int) -> None:
        """Prepare the masks and shifts."""
        self.size = max(1, count) * WIDTH // 8  # of one number in bytes, even if it has no lanes
        self._begins = range(0, count * WIDTH, WIDTH)
        self._shifts = [begin + FRACTION_BITS for begin in self._begins]
        self._mask = (1 << (WIDTH - FRACTION_BITS)) - 1
        self._half = 1 << (WIDTH - FRACTION_BITS - 1)
        # Makes every lane positive, so that none borrows from the next.
        self._halves = self.packed([self._half] * count)

    def packed(self, values: Sequence[int]) -> int:
        """One number with *values* side by side."""
        return sum(map(lshift, values, self._shifts))

    def values(self, number: int) -> tuple[int, ...]:
        """What is in each lane, rounded down."""
        mask, half = self._mask, self._half
        positive = number + self._halves
        return tuple([(positive >> shift & mask) - half for shift in self._shifts])

    def columns(self, numbers: Iterable[int]) -> list[list[int]]:
        """For each lane, what is in it in each of the *numbers*, rounded down."""
        positives = [number + self._halves for number in numbers]
        mask, half = self._mask, self._half
        return [
            [(positive >> shift & mask) - half for positive in positives] for shift in self._shifts
        ]

    def halved(self, number: int, times: int) -> int:
        """Each lane so many times halved, toward 0."""
        values = self.values(number)
        return self.packed([_halved(value, times) for value in values])

    def divided(self, number: int, by: int) -> int:
        """Each lane divided by a positive number, rounded down to 2**-FRACTION_BITS."""
        positive, mask, half = number + self._halves, (1 << WIDTH) - 1, 1 << (WIDTH - 1)
        return sum([((positive >> begin & mask) - half) // by << begin for begin in self._begins])

    def to_bytes(self, numbers: Iterable[int]) -> bytes:
        """All *numbers*, lowest byte first; no value may be more than half of what a lane holds.

        Lanes with negative values have borrowed from the next, and are written so.
        """
        size = self.size
        return b"".join([each.to_bytes(size, "little", signed=True) for each in numbers])

    def from_bytes(self, data: bytes | bytearray) -> list[int]:
        """The numbers of which `to_bytes` made *data*."""
        whole = int.from_bytes
        rows = Struct(f"{self.size}s").iter_unpack(data)
        return [whole(row, "little", signed=True) for (row,) in rows]


def _halved(value: int, times: int) -> int:
    return value >> times if value >= 0 else -(-value >> times)
