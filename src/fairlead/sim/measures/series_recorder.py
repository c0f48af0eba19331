"""Writes down what each queue has over time, in at most so many buckets, whatever time passes.

Buckets are closed while time goes by. Where more come than there is room for, each two become one
of twice the length, so memory is bounded by queues x buckets also if the end is not known.
"""

from collections.abc import Iterator

from fairlead.sim.measures.queue_books import LevelTable, QueueBooks
from fairlead.sim.measures.series import BucketTable, Series, SeriesTables

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
        self._tables = SeriesTables(
            allocated=_empty(books.held),
            entitled=_empty(books.entitled.table),
            fair_share=_empty(books.fair_share.table),
            usage_e9=_empty(books.usage_e9.table),
            evictions=BucketTable(len(books.all)),
            capacity=_empty(capacity),
        )
        self._sources = (
            (books.held, self._tables.allocated),
            (books.entitled.table, self._tables.entitled),
            (books.fair_share.table, self._tables.fair_share),
            (books.usage_e9.table, self._tables.usage_e9),
            (capacity, self._tables.capacity),
        )
        for levels, _ in self._sources:
            levels.begin_buckets(start_ms)
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
            self._tables.evictions.widen_last(self._books.evictions)
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
        for levels, tables in self._sources:
            for table, row in zip(tables, levels.close_bucket(at_ms), strict=True):
                table.add(row)
        self._tables.evictions.close(list(self._books.evictions))

    def _halve(self) -> None:
        for table in self._all_tables():
            table.halve()
        self._closed //= 2
        self._bucket_ms *= 2
        self._find_end()

    def _find_end(self) -> None:
        self.full_at_ms = self._start_ms + (self._closed + 1) * self._bucket_ms

    def _all_tables(self) -> Iterator[BucketTable]:
        yield self._tables.evictions
        for _, tables in self._sources:
            yield from tables


def _empty(levels: LevelTable) -> tuple[BucketTable, ...]:
    return tuple(BucketTable(len(row)) for row in levels.levels)
