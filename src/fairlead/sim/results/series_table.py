"""``series.csv``: what each queue had in each bucket of time, as exact sums, and back.

A line without a queue has the capacity of the cluster, and one without a resource how often pods
of a job lost their places. Lines that would hold nothing but zeros are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fairlead.sim.measures.series import KINDS, BucketTable, Series
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.csv_cells import safe_text
from fairlead.sim.results.files import CsvFile, quoted, read_rows

COLUMNS: Final = ("begin_ms", "queue", "resource", *KINDS, "preemptions", "capacity")


def write_series(path: Path, series: Series) -> None:
    """Write all buckets, queue by queue. Cost: buckets x queues x resources.

    There may be half a million lines, so those of a queue and a resource are put together at once.
    """
    table = CsvFile(path, COLUMNS)
    begins = series.begins_ms()
    for resource, column in series.capacity().items():
        names = quoted(("", safe_text(resource)))
        lines = zip(begins, column, strict=True)
        table.add_text("".join([f"{begin},{names},,,,,,{amount}\n" for begin, amount in lines]))
    for queue in series.queues:
        for text in _texts(series, queue, begins):
            table.add_text(text)
    table.close()


def _texts(series: Series, queue: str, begins: list[int]) -> Iterator[str]:
    """Yield the lines of a queue: for each resource what it had, and how often it was evicted."""
    of_queue = series.of_queue(queue)
    for resource in series.resources:
        names = quoted((safe_text(queue), safe_text(resource)))
        columns = [getattr(of_queue, kind)[resource] for kind in KINDS]
        if not any(map(any, columns)):
            continue
        lines = zip(begins, *columns, strict=True)
        yield "".join(
            [
                f"{begin},{names},{held},{due},{fair},{used},,\n"
                for begin, held, due, fair, used in lines
                if held or due or fair or used
            ]
        )
    names = quoted((safe_text(queue), ""))
    counts = zip(begins, of_queue.evictions, strict=True)
    yield "".join([f"{begin},{names},,,,,{count},\n" for begin, count in counts if count])


def read_series(path: Path, about: RunAbout) -> Series:
    """Return the series that was written. Cost and memory: buckets x queues x resources."""
    buckets = _Buckets(about)
    for _ in read_rows(path, COLUMNS, buckets.take):
        pass
    return buckets.series()


class _Buckets:
    """The numbers of a table on their way back to where they came from."""

    def __init__(self, about: RunAbout) -> None:
        self._about = about
        span_ms = about.end_ms - about.start_ms
        self._count = max(1, -(-span_ms // about.bucket_ms))
        self._queues = {name: place for place, name in enumerate(about.parents)}
        self._resources = {name: place for place, name in enumerate(about.resources)}
        queues = len(self._queues)
        self._rows = {kind: [self._zeros(queues) for _ in about.resources] for kind in KINDS}
        self._rows["capacity"] = [self._zeros(1) for _ in about.resources]
        self._rows["evictions"] = [self._zeros(queues)]

    def take(self, cells: list[str]) -> None:
        """Put the numbers of one line to their place; raises for a line that has none."""
        begin, queue, resource, *texts = cells
        bucket, rest_ms = divmod(int(begin) - self._about.start_ms, self._about.bucket_ms)
        if rest_ms or bucket < 0:
            raise ValueError(f"no bucket begins at {begin}")
        *amounts, evictions, capacity = [int(text or "0") for text in texts]
        if not queue:
            self._rows["capacity"][self._resources[resource]][bucket][0] = capacity
        elif not resource:
            self._rows["evictions"][0][bucket][self._queues[queue]] = evictions
        else:
            of_resource, of_queue = self._resources[resource], self._queues[queue]
            for kind, amount in zip(KINDS, amounts, strict=True):
                self._rows[kind][of_resource][bucket][of_queue] = amount

    def series(self) -> Series:
        """Return all that was put here."""
        about = self._about
        return Series(
            {kind: list(map(BucketTable.of_rows, tables)) for kind, tables in self._rows.items()},
            about.resources,
            self._queues,
            start_ms=about.start_ms,
            end_ms=about.end_ms,
            bucket_ms=about.bucket_ms,
        )

    def _zeros(self, holders: int) -> list[list[int]]:
        return [[0] * holders for _ in range(self._count)]
