"""What many holders had in each of many buckets, in little memory.

Most numbers fit into 64 bits and take 8 bytes. Bytes of memory x ms may not; then, and only then, a
bucket is a list of whole numbers of any size.
"""

from array import array
from collections.abc import Sequence
from operator import add, sub
from typing import Self


class BucketTable:
    """One row for each bucket, with one number for each holder."""

    def __init__(self, holders: int) -> None:
        """No bucket has been closed."""
        self._rows: list[Sequence[int]] = []
        self._closed_at = [0] * holders
        self._nothing = _packed(self._closed_at)
        self._has_any = False  # whether anybody had anything in any bucket

    @classmethod
    def of_rows(cls, rows: Sequence[list[int]]) -> Self:
        """Return the table of these buckets, each with one number for each holder."""
        table = cls(len(rows[0]) if rows else 0)
        table._rows = list(map(_packed, rows))
        table._has_any = any(map(any, rows))
        return table

    def close(self, totals: list[int]) -> None:
        """End a bucket; *totals* count from the beginning."""
        if totals == self._closed_at:  # so are whole tables, under rules that know no such thing
            self._rows.append(self._nothing)
            return
        self._rows.append(_packed(list(map(sub, totals, self._closed_at))))
        self._closed_at = totals
        self._has_any = True

    def halve(self) -> None:
        """Make one bucket of each two; there is an even number of them."""
        if not self._has_any:
            del self._rows[len(self._rows) // 2 :]
            return
        rows = iter(self._rows)
        self._rows = [
            _packed(list(map(add, first, second))) for first, second in zip(rows, rows, strict=True)
        ]

    def widen_last(self, totals: list[int]) -> None:
        """Count what came since the last bucket was closed as a part of it."""
        more = map(sub, totals, self._closed_at)
        self._rows[-1] = _packed(list(map(add, self._rows[-1], more)))
        self._closed_at = totals
        self._has_any = self._has_any or any(self._rows[-1])

    def column(self, holder: int) -> tuple[int, ...]:
        """What one holder had, bucket by bucket. Cost: none to speak of if nobody had anything."""
        if not self._has_any:
            return (0,) * len(self._rows)
        return tuple([row[holder] for row in self._rows])


def _packed(numbers: list[int]) -> Sequence[int]:
    try:
        return array("q", numbers)
    except OverflowError:
        return numbers
