"""The format of a log, from what its user said or from its content, and places in it."""

from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from fairlead.sim.traces.csv_rows import ColumnMap, csv_reader, is_own_head
from fairlead.sim.traces.sacct_rows import is_sacct_head, sacct_reader
from fairlead.sim.traces.swf import is_swf_line, swf_reader
from fairlead.sim.traces.trace_job import RowError, RowReader, TraceError, TraceJob, TraceKind
from fairlead.sim.traces.trace_lines import trace_lines
from fairlead.sim.traces.trace_rules import TraceRules, queue_of

_HEAD_LINES: Final = 1000
"""Remarks before the first row may be many, but not more than that."""


def row_reader_of(
    path: Path, kind: TraceKind | None, columns: ColumnMap | None, time_zone: ZoneInfo
) -> RowReader:
    """Return what reads the rows of a file; raise `TraceError` if the format is unknown.

    A column map makes it a table. Cost: the head of the file, not the file.
    """
    head = [line for line in islice(trace_lines(path), _HEAD_LINES) if line.strip()]
    if not head:
        raise TraceError(
            f"{path}: found an empty file, expected a trace", "name another file, or fetch it again"
        )
    kind = kind or _kind_of(path, head[0], columns)
    if kind == "swf":
        return swf_reader(head)
    if kind == "sacct":
        return sacct_reader(head[0], str(path), time_zone)
    try:
        return csv_reader(head[0], columns, str(path), time_zone)
    except RowError as wrong:
        raise TraceError(
            f"{path}: {wrong} in the first line, expected a heading", "correct the first line"
        ) from wrong


def _kind_of(path: Path, first: str, columns: ColumnMap | None) -> TraceKind:
    if columns is not None:
        return "csv"
    if is_sacct_head(first):
        return "sacct"
    if is_own_head(first):
        return "csv"
    if is_swf_line(first) or ".swf" in path.suffixes:
        return "swf"
    shown = first if len(first) <= 60 else f"{first[:60]}..."
    raise TraceError(
        f"{path}: unknown format of a trace that begins with {shown!r}",
        "say the kind (swf, sacct, csv), or for a table which column is what",
    )


def first_lines(path: Path, rules: TraceRules, queues: Collection[str]) -> dict[str, int]:
    """Return the number of the first row that ran in each of *queues*. Cost: reading the log."""
    reader = row_reader_of(path, rules.kind, rules.columns, ZoneInfo(rules.time_zone))
    missing = set(queues)
    found: dict[str, int] = {}
    for number, line in enumerate(trace_lines(path), start=1):
        if not missing:
            break
        try:
            row = reader.read(number, line)
        except RowError:
            continue
        if isinstance(row, TraceJob) and row.run_ms:
            queue = queue_of(rules.queues, row.queue, row.group, row.user)
            if queue in missing:
                found[queue] = number
                missing.remove(queue)
    return found
