"""What queues of one run had over time, as lines of a picture."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from fairlead.sim.measures.series import Columns, QueueSeries, Series
from fairlead.sim.report.fewer_buckets import fewer_buckets
from fairlead.sim.report.report_page import Lines, Points, QueueLines, ShownResource

KINDS: Final = ("allocated", "entitled", "fair_share", "usage_e9")
PERCENT_E9: Final = 10**7
"""Usage is told in thousand millionths of the cluster, and shown in percent."""


class LineMaker:
    """Reads the series of one run in buckets of which each is several of those that it has."""

    def __init__(self, series: Series, resources: Sequence[ShownResource], together: int) -> None:
        """Make one bucket of each *together*."""
        self._series = series
        self._resources = resources
        self._together = together
        self._lengths_ms = fewer_buckets(series.lengths_ms(), together)

    @property
    def buckets(self) -> int:
        """How many points each line has."""
        return len(self._lengths_ms)

    def capacity(self) -> dict[str, Points]:
        """Return what the cluster had."""
        columns = self._series.capacity()
        return {
            each.name: self._points(self._merged(columns[each.name]), each.scale)
            for each in self._resources
        }

    def of_queues(self, names: Sequence[str]) -> Lines:
        """Return what *names* had together."""
        found = [self._series.of_queue(name) for name in names]
        return {each.name: self._lines(found, each) for each in self._resources}

    def _lines(self, found: Sequence[QueueSeries], resource: ShownResource) -> QueueLines:
        lines = {}
        for kind in KINDS:
            columns: list[Columns] = [getattr(each, kind) for each in found]
            merged = [self._merged(each[resource.name]) for each in columns]
            total = merged[0] if len(merged) == 1 else list(map(sum, zip(*merged, strict=True)))
            if any(total):
                scale = PERCENT_E9 if kind == "usage_e9" else resource.scale
                lines[kind.removesuffix("_e9")] = self._points(total, scale)
        return msgspec.convert(lines, QueueLines)

    def _merged(self, column: Sequence[int]) -> list[int]:
        return fewer_buckets(column, self._together)

    def _points(self, column: Sequence[int], scale: int) -> Points:
        """Return averages in shown units; 0 where no time passed."""
        return [
            rounded(total / (length_ms * scale)) if length_ms else 0
            for total, length_ms in zip(column, self._lengths_ms, strict=True)
        ]


@lru_cache(maxsize=65_536)  # what a queue holds or is due is often the same for long
def rounded(value: float) -> float:
    """Return *value* with four digits that count, which no picture can tell from the true one.

    Whole numbers become integers, which are shorter in a document.
    """
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short
