"""Traces in tables: our own columns, or those that a column map describes.

A row is one line. A cell may be quoted, but holds no end of line: a quote that is not closed would
otherwise swallow all rows behind it, and count as one.
"""

import csv
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache, partial
from operator import itemgetter
from typing import Annotated, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from fairlead.model.quantity import scale_of
from fairlead.sim.fields import INTERNAL, says
from fairlead.sim.traces.exact_number import bounded, rounded_down, rounded_up, whole_between
from fairlead.sim.traces.trace_job import (
    CPU,
    GPU,
    MEMORY,
    MOST_PODS,
    MOST_PRIORITY,
    Asks,
    RowError,
    RowReader,
    TraceError,
    TraceJob,
)
from fairlead.store.text.sacct import start_ms

TimeUnit: TypeAlias = Literal["ms", "s", "min", "h", "d", "unix-s", "unix-ms", "date"]
AmountUnit: TypeAlias = Literal[
    "one", "milli", "percent", "bytes", "kB", "MB", "GB", "KiB", "MiB", "GiB"
]

TIME_UNITS_MS: Final[dict[TimeUnit, int]] = {
    "ms": 1,
    "s": 1000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "unix-s": 1000,
    "unix-ms": 1,
}
"""A ``date`` is no number: 2017-09-04T03:01:02, with a zone or in that of the rules."""

DATED: Final[frozenset[TimeUnit]] = frozenset({"unix-s", "unix-ms", "date"})
"""Units of which the clock is known, so that a trace can be cut by date."""

AMOUNT_UNITS: Final[dict[AmountUnit, Fraction]] = {
    "one": Fraction(1),
    "milli": Fraction(1, 1000),
    "percent": Fraction(1, 100),
    "bytes": Fraction(1),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
}


class TimeColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column with moments or lengths of time."""

    name: str
    unit: TimeUnit = "s"


class AmountColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column with amounts of one resource."""

    name: str
    unit: AmountUnit = "one"


class ColumnMap(msgspec.Struct, frozen=True, kw_only=True):
    """What the columns of a table mean. Only ``submit``, and ``run`` or ``end``, must be there.

    Without ``run`` a job runs from ``start`` to ``end``, and without ``start`` from ``submit``.
    Without ``wait`` it waited from ``submit`` to ``start``. All moments are on one clock.
    """

    submit: TimeColumn
    run: TimeColumn | None = None
    start: TimeColumn | None = None
    end: TimeColumn | None = None
    wait: TimeColumn | None = None
    asked: TimeColumn | None = None
    id: str | None = None  # None: the number of the line
    user: str | None = None
    group: str | None = None
    queue: str | None = None
    amounts: Annotated[dict[str, AmountColumn], says("By resource.")] = {}
    amounts_of: Literal["job", "pod"] = "job"
    pods: str | None = None
    priority: str | None = None
    names: Annotated[tuple[str, ...], says("Of all columns, if the table has no heading.")] = ()
    separator: str = ","
    unknown: Annotated[tuple[str, ...], INTERNAL] = (
        "",
        "NA",
        "NaN",
        "nan",
        "NULL",
        "null",
        "None",
    )

    def columns(self) -> Iterable[str]:
        """Yield the name of each column that is used."""
        times = (self.submit, self.run, self.start, self.end, self.wait, self.asked)
        yield from (column.name for column in times if column)
        yield from (column.name for column in self.amounts.values())
        texts = (self.id, self.user, self.group, self.queue, self.pods, self.priority)
        yield from (name for name in texts if name)


OWN_COLUMNS: Final = ColumnMap(
    id="job_id",
    submit=TimeColumn(name="submit_s"),
    run=TimeColumn(name="run_s"),
    user="user",
    group="group",
    queue="queue",
    amounts={
        GPU: AmountColumn(name="gpus"),
        CPU: AmountColumn(name="cpus"),
        MEMORY: AmountColumn(name="mem_mb", unit="MiB"),
    },
    pods="nodes_or_pods",
    priority="priority",
    wait=TimeColumn(name="obs_wait_s"),
    asked=TimeColumn(name="req_time_s"),
)
"""The CSV of our own. A table with the first three columns is one; the others may be missing."""

OWN_NEEDED: Final = ("job_id", "submit_s", "run_s")


_Facts: TypeAlias = tuple[str, str, str, Asks, int, int | None]
"""The user, group and queue of a job, what it asks for, over how many pods, and its priority."""


def is_own_head(line: str) -> bool:
    """Whether a line is the heading of a table with our own columns."""
    cells = line.replace('"', "").split(",")
    return all(name in cells for name in OWN_NEEDED)


def csv_reader(head: str, columns: ColumnMap | None, file: str, time_zone: ZoneInfo) -> RowReader:
    """Return the reader of a table with the first line *head*; None: it has our own columns.

    Raises `TraceError` if a column is missing or there twice, or the map does not say how long a
    job runs.
    """
    columns = columns or OWN_COLUMNS
    if columns.run is None and columns.end is None:
        raise TraceError(
            f"{file}: the column map says neither run nor end", "name one of them in the columns"
        )
    moments = [each for each in (columns.submit, columns.start, columns.end) if each]
    if len({each.unit in DATED for each in moments}) > 1:
        raise TraceError(
            f"{file}: the column map has moments with and without dates",
            "write units for submit, start and end that are on one clock",
        )
    names = list(columns.names) or split_cells(head, columns.separator)
    needed = OWN_NEEDED if columns is OWN_COLUMNS else tuple(columns.columns())
    missing = sorted(name for name in needed if name not in names)
    if missing:
        raise TraceError(
            f"{file}: found no column {', '.join(missing)}, only {', '.join(names)}",
            "say in the column map what they are called",
        )
    _refuse_same_names(names, columns, file)
    rows = _CsvRows(names, columns, time_zone)
    is_dated = columns.submit.unit in DATED
    return RowReader(kind="csv", read=rows.read, zero_unix_ms=0 if is_dated else None)


def _refuse_same_names(names: list[str], columns: ColumnMap, file: str) -> None:
    """Raise `TraceError` for two columns of one name, if one of them is meant."""
    for name in columns.columns():
        if names.count(name) > 1:
            first, second, *_ = (place for place, each in enumerate(names, 1) if each == name)
            raise TraceError(
                f"{file}: found the column {name} twice, at {first} and at {second} of "
                f"{len(names)}, expected each name that is used once",
                "rename or remove one of them",
            )


def split_cells(line: str, separator: str) -> list[str]:
    """Return the cells of one line; raise `RowError` if a quote in it has no end."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error as wrong:
        raise RowError("row", f"found quotes that do not match ({wrong})") from wrong


class _CsvRows:
    """Reads the rows of a table with columns *names*."""

    def __init__(self, names: list[str], columns: ColumnMap, time_zone: ZoneInfo) -> None:
        self._names = names
        self._separator = columns.separator
        time = partial(_time_reader, names, columns, time_zone)
        self._submit_ms, self._run_ms = time(columns.submit), time(columns.run)
        self._start_ms, self._end_ms = time(columns.start), time(columns.end)
        self._wait_ms, self._asked_ms = time(columns.wait), time(columns.asked)
        self._submit_name = columns.submit.name
        self._has_run, self._has_start = columns.run is not None, columns.start is not None
        self._has_wait = columns.wait is not None
        self._id_place = names.index(columns.id) if columns.id in names else None
        self._facts = _facts_reader(names, columns)

    def read(self, number: int, line: str) -> TraceJob | str | None:
        """Read a row; see `ReadLine`."""
        if not line or line.isspace():
            return None
        cells = split_cells(line, self._separator)
        if len(cells) != len(self._names):
            raise RowError("row", f"found {len(cells)} cells, expected {len(self._names)}")
        if cells == self._names:
            return None  # the heading, or that of a second table put behind the first
        submit_ms = self._submit_ms(cells)
        if submit_ms is None:
            raise RowError(self._submit_name, "found nothing, expected when the job came")
        user, group, queue, asks, pods, priority = self._facts(cells)
        return TraceJob(
            id=(self._id_place is not None and cells[self._id_place]) or str(number),
            submit_ms=submit_ms,
            run_ms=self._run_ms(cells) if self._has_run else self._from_start(cells, submit_ms),
            user=user,
            group=group,
            queue=queue,
            asks=asks,
            pods=pods,
            priority=priority,
            asked_ms=self._asked_ms(cells),
            wait_ms=self._wait_ms(cells) if self._has_wait else self._until_start(cells, submit_ms),
        )

    def _from_start(self, cells: list[str], submit_ms: int) -> int | None:
        since_ms = self._start_ms(cells) if self._has_start else submit_ms
        until_ms = self._end_ms(cells)
        if since_ms is None or until_ms is None:
            return None
        if until_ms < since_ms:
            raise RowError("row", "found an end before the start")
        return until_ms - since_ms

    def _until_start(self, cells: list[str], submit_ms: int) -> int | None:
        begins_ms = self._start_ms(cells)
        return None if begins_ms is None else max(0, begins_ms - submit_ms)


def _time_reader(
    names: list[str], columns: ColumnMap, time_zone: ZoneInfo, column: TimeColumn | None
) -> Callable[[list[str]], int | None]:
    if column is None or column.name not in names:
        return lambda _cells: None
    name, place = column.name, names.index(column.name)
    unit_ms = TIME_UNITS_MS.get(column.unit)
    unknown = frozenset(columns.unknown)

    def read(cells: list[str]) -> int | None:
        cell = cells[place]
        # Nearly always. Half of the time to read a trace is this, so it calls nothing of ours.
        if unit_ms is not None and cell.isdecimal() and cell.isascii() and len(cell) < 11:
            return int(cell) * unit_ms
        if cell in unknown:
            return None
        try:
            return start_ms(cell, time_zone) if unit_ms is None else rounded_down(cell, unit_ms)
        except ValueError as wrong:
            raise RowError(name, str(wrong)) from wrong

    return read


def _facts_reader(names: list[str], columns: ColumnMap) -> Callable[[list[str]], _Facts]:
    """Return what reads all that many rows have in common, so that most of them are looked up."""
    texts = (columns.user, columns.group, columns.queue, columns.pods, columns.priority)
    used = [column.name for column in columns.amounts.values()] + [text for text in texts if text]
    there = [name for name in used if name in names]
    places = [names.index(name) for name in there]

    @lru_cache(maxsize=65536)
    def facts(cells: tuple[str, ...]) -> _Facts:
        named = dict(zip(there, cells, strict=True))
        known = {name: cell for name, cell in named.items() if cell not in columns.unknown}
        user, group, queue = (known.get(text or "", "") for text in texts[:3])
        pods = _whole(known, columns.pods, 1, MOST_PODS) or 1
        priority = _whole(known, columns.priority, -MOST_PRIORITY, MOST_PRIORITY)
        return user, group, queue, _asks(known, columns, pods), pods, priority

    if len(places) < 2:  # of which itemgetter makes no tuple
        return lambda cells: facts(tuple(cells[place] for place in places))
    cells_of = itemgetter(*places)
    return lambda cells: facts(cells_of(cells))


def _asks(known: dict[str, str], columns: ColumnMap, pods: int) -> Asks:
    times = pods if columns.amounts_of == "pod" else 1
    found = []
    for resource, column in columns.amounts.items():
        if column.name not in known:
            continue
        unit = AMOUNT_UNITS[column.unit] * scale_of(resource)
        try:
            found.append((resource, bounded(rounded_up(known[column.name], unit) * times)))
        except ValueError as wrong:
            raise RowError(column.name, str(wrong)) from wrong
    return tuple(found)


def _whole(known: dict[str, str], column: str | None, least: int, most: int) -> int | None:
    if column is None or column not in known:
        return None
    try:
        return whole_between(known[column], least, most)
    except ValueError as wrong:
        raise RowError(column, str(wrong)) from wrong
