"""What each queue had over time, in buckets of equal length, for charts.

Each bucket keeps the resource-time in it, so the buckets of a queue add up to its total exactly.
Numbers that fit into 64 bits take 8 bytes; a table with larger ones is a list of whole numbers.
"""

from array import array
from collections.abc import Mapping, Sequence
from operator import add, sub
from typing import Final, Self, TypeAlias

import msgspec

from fairlead.sim.measures.queue_books import LevelTable, QueueBooks


class BucketTable:
    """One row for each bucket, with one number for each holder."""

    def __init__(self, holders: int) -> None:
        """No bucket has been closed."""
        self._holders = holders
        self._buckets = 0
        # Empty as long as no holder had anything in any bucket.
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
        """Put a bucket behind the others; no numbers: no holder had anything in it."""
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
        """Return what one holder had, bucket by bucket."""
        if not self._numbers:
            return (0,) * self._buckets
        return tuple(self._numbers[holder :: self._holders])

    def _row(self, bucket: int) -> Sequence[int]:
        """Return what stands of a bucket; nothing if no holder ever had anything."""
        return self._numbers[bucket * self._holders : (bucket + 1) * self._holders]

    def _extend(self, numbers: Sequence[int]) -> None:
        if isinstance(self._numbers, list):
            self._numbers += numbers
            return
        try:
            self._numbers += array("q", numbers)
        except OverflowError:
            self._numbers = [*self._numbers, *numbers]


Columns = dict[str, tuple[int, ...]]
"""For each resource one number for each bucket."""


class QueueSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One queue: resource-time in each bucket, and how often pods of a job lost their places."""

    allocated: Columns
    entitled: Columns
    fair_share: Columns
    usage_e9: Columns
    evictions: tuple[int, ...]


KINDS: Final = ("allocated", "entitled", "fair_share", "usage_e9")
"""Of resource-time that queues have, as `QueueSeries` calls them."""

Tables: TypeAlias = Mapping[str, Sequence[BucketTable]]
"""Those of `KINDS` and of ``capacity``, one for each resource, and the one of ``evictions``."""


class Series:
    """All queues. Each bucket lasts ``bucket_ms``, but the last one ends at ``end_ms``.

    The numbers stay packed, 8 bytes each, until one queue is asked for.
    """

    def __init__(
        self,
        tables: Tables,
        resources: tuple[str, ...],
        queues: Mapping[str, int],
        *,
        start_ms: int,
        end_ms: int,
        bucket_ms: int,
    ) -> None:
        """Read *tables*, in which *queues* says where each of them stands."""
        self._tables = tables
        self._index = dict(queues)
        self.queues = tuple(queues)
        self.resources = resources
        self.start_ms = start_ms
        self.end_ms = end_ms
        self.bucket_ms = bucket_ms

    def of_queue(self, name: str) -> QueueSeries:
        """The buckets of one queue. Cost: buckets x resources."""
        index = self._index[name]
        [evictions] = self._tables["evictions"]
        columns = {kind: self._columns(kind, index) for kind in KINDS}
        return QueueSeries(**columns, evictions=evictions.column(index))

    def capacity(self) -> Columns:
        """The resource-time that the cluster had to give in each bucket."""
        return self._columns("capacity", 0)

    def begins_ms(self) -> list[int]:
        """When each bucket begins; there is one at least."""
        if self.end_ms == self.start_ms:
            return [self.start_ms]
        return list(range(self.start_ms, self.end_ms, self.bucket_ms))

    def lengths_ms(self) -> list[int]:
        """How long each bucket lasts; 0 only where no time passed at all."""
        return [min(self.bucket_ms, self.end_ms - begin_ms) for begin_ms in self.begins_ms()]

    def _columns(self, kind: str, index: int) -> Columns:
        columns = [table.column(index) for table in self._tables[kind]]
        return dict(zip(self.resources, columns, strict=True))


MOST_BUCKETS = 2000


class SeriesRecorder:
    """Reads the books of the queues whenever a bucket is full."""

    def __init__(
        self,
        books: QueueBooks,
        capacity: LevelTable,
        *,
        start_ms: int,
        bucket_ms: int,
        most_buckets: int = MOST_BUCKETS,
    ) -> None:
        """Begin at *start_ms* with buckets of a first length; *most_buckets* is even."""
        assert bucket_ms > 0
        assert most_buckets > 0
        assert most_buckets % 2 == 0, "each two buckets become one"
        self._books = books
        self._start_ms = start_ms
        self._bucket_ms = bucket_ms
        self._most_buckets = most_buckets
        self._closed = 0
        self._sources = {
            "allocated": books.held,
            "entitled": books.entitled.table,
            "fair_share": books.fair_share.table,
            "usage_e9": books.usage_e9.table,
            "capacity": capacity,
        }
        self._evictions = BucketTable(len(books.all))
        self._tables: dict[str, list[BucketTable]] = {"evictions": [self._evictions]}
        for kind, levels in self._sources.items():
            levels.begin_buckets(start_ms)
            self._tables[kind] = [BucketTable(len(row)) for row in levels.levels]
        self.full_at_ms = start_ms + bucket_ms  # when the open bucket ends

    def pass_until(self, at_ms: int) -> None:
        """Close the buckets that end by *at_ms*.

        All that happened before *at_ms* has been recorded, and nothing later. Cost: queues x
        resources for each bucket that is closed.
        """
        while self.full_at_ms <= at_ms:
            if self._closed == self._most_buckets:
                self._halve()
            else:
                self._close(self.full_at_ms)
                self._find_end()

    def end(self, at_ms: int, resources: tuple[str, ...]) -> Series:
        """Close the last bucket and return all of them."""
        self.pass_until(at_ms)
        begun_ms = self.full_at_ms - self._bucket_ms
        if at_ms > begun_ms or not self._closed:
            if self._closed == self._most_buckets:
                self._halve()
            self._close(at_ms)
        else:
            # What happens at the very end belongs to the bucket that ends there.
            self._evictions.widen_last(self._books.evictions)
        return Series(
            self._tables,
            resources,
            {book.name: book.index for book in self._books.all},
            start_ms=self._start_ms,
            end_ms=at_ms,
            bucket_ms=self._bucket_ms,
        )

    def _close(self, at_ms: int) -> None:
        self._closed += 1
        for kind, levels in self._sources.items():
            for table, row in zip(self._tables[kind], levels.close_bucket(at_ms), strict=True):
                table.add(row)
        self._evictions.close(list(self._books.evictions))

    def _halve(self) -> None:
        for tables in self._tables.values():
            for table in tables:
                table.halve()
        self._closed //= 2
        self._bucket_ms *= 2
        self._find_end()

    def _find_end(self) -> None:
        self.full_at_ms = self._start_ms + (self._closed + 1) * self._bucket_ms
