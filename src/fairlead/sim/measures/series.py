"""What each queue had over time, in buckets of equal length, for pictures.

A month has more changes than a picture has points. Each bucket keeps the resource-time in it, so
that averages are true and nothing is lost: the buckets of a queue add up to its total exactly.
"""

from collections.abc import Mapping

import msgspec

from fairlead.sim.measures.bucket_table import BucketTable

Columns = dict[str, tuple[int, ...]]
"""For each resource one number for each bucket."""


class QueueSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One queue: resource-time in each bucket, and how often pods of a job lost their places."""

    allocated: Columns
    entitled: Columns
    fair_share: Columns
    usage_e9: Columns
    evictions: tuple[int, ...]


class SeriesTables(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of all queues; one table for each resource."""

    allocated: tuple[BucketTable, ...]
    entitled: tuple[BucketTable, ...]
    fair_share: tuple[BucketTable, ...]
    usage_e9: tuple[BucketTable, ...]
    evictions: BucketTable
    capacity: tuple[BucketTable, ...]


class Series:
    """All queues. Each bucket lasts ``bucket_ms``, but the last one ends at ``end_ms``.

    The numbers stay packed, 8 bytes each, until somebody asks for one queue.
    """

    def __init__(
        self,
        tables: SeriesTables,
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
        tables = self._tables
        return QueueSeries(
            allocated=self._columns(tables.allocated, index),
            entitled=self._columns(tables.entitled, index),
            fair_share=self._columns(tables.fair_share, index),
            usage_e9=self._columns(tables.usage_e9, index),
            evictions=tables.evictions.column(index),
        )

    def capacity(self) -> Columns:
        """The resource-time that the cluster had to give in each bucket."""
        return self._columns(self._tables.capacity, 0)

    def begins_ms(self) -> list[int]:
        """When each bucket begins; there is one at least."""
        if self.end_ms == self.start_ms:
            return [self.start_ms]
        return list(range(self.start_ms, self.end_ms, self.bucket_ms))

    def lengths_ms(self) -> list[int]:
        """How long each bucket lasts; 0 only where no time passed at all."""
        return [min(self.bucket_ms, self.end_ms - begin_ms) for begin_ms in self.begins_ms()]

    def averages(self, column: tuple[int, ...]) -> list[float]:
        """What there was of a resource on average in each bucket; 0 where no time passed."""
        lengths = zip(column, self.lengths_ms(), strict=True)
        return [total / length_ms if length_ms else 0.0 for total, length_ms in lengths]

    def _columns(self, tables: tuple[BucketTable, ...], index: int) -> Columns:
        columns = [table.column(index) for table in tables]
        return dict(zip(self.resources, columns, strict=True))
