"""What many holders had in each of many buckets, in little memory.

Most numbers fit into 64 bits and take 8 bytes. Bytes of memory x ms may not; then, and only then, a
table is a list of whole numbers of any size. All buckets stand one behind the other, so that what
one holder had is one number of each bucket, at equal distances.
"""

from array import array
from collections.abc import Sequence
from operator import add, sub
from typing import Self


class BucketTable:
    """One row for each bucket, with one number for each holder."""

    def __init__(self, holders: int) -> None:
        """No bucket has been closed."""
        self._holders = holders
        self._buckets = 0
        # Nothing stands here as long as nobody had anything in any bucket.
        self._numbers: array[int] | list[int] = array("q")
        self._closed_at = [0] * holders

    @classmethod
    def of_rows(cls, rows: Sequence[list[int]]) -> Self:
        """Return the table of these buckets, each with one number for each holder."""
        table = cls(len(rows[0]) if rows else 0)
        for row in rows:
            table.add(row)
        return table

    def add(self, row: Sequence[int]) -> None:
        """Put a bucket behind the others; no numbers: nobody had anything in it."""
        self._buckets += 1
        if self._numbers or any(row):
            missing = self._buckets * self._holders - len(self._numbers) - len(row)
            if missing:
                self._extend([0] * missing)
            self._extend(row)

    def close(self, totals: list[int]) -> None:
        """End a bucket; *totals* count from the beginning."""
        self.add([] if totals == self._closed_at else list(map(sub, totals, self._closed_at)))
        self._closed_at = totals

    def halve(self) -> None:
        """Make one bucket of each two; there is an even number of them."""
        rows = iter([self._row(bucket) for bucket in range(self._buckets)])
        self._buckets, self._numbers = 0, array("q")
        for first, second in zip(rows, rows, strict=True):
            self.add(list(map(add, first, second)))

    def widen_last(self, totals: list[int]) -> None:
        """Count what came since the last bucket was closed as a part of it."""
        last = self._row(self._buckets - 1)
        self._buckets -= 1
        del self._numbers[self._buckets * self._holders :]
        more = map(sub, totals, self._closed_at)
        self.add(list(map(add, last, more)) if last else list(more))
        self._closed_at = totals

    def column(self, holder: int) -> tuple[int, ...]:
        """What one holder had, bucket by bucket. Cost: none to speak of if nobody had anything."""
        if not self._numbers:
            return (0,) * self._buckets
        return tuple(self._numbers[holder :: self._holders])

    def _row(self, bucket: int) -> Sequence[int]:
        """Return what stands of a bucket; nothing if nobody ever had anything."""
        return self._numbers[bucket * self._holders : (bucket + 1) * self._holders]

    def _extend(self, numbers: Sequence[int]) -> None:
        if isinstance(self._numbers, list):
            self._numbers += numbers
            return
        try:
            self._numbers += array("q", numbers)
        except OverflowError:
            self._numbers = [*self._numbers, *numbers]
