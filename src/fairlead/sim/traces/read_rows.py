"""All usable rows of a trace, with the books of those that are not.

A trace is read to its end before any job is given, so that a long simulation does not build on one
that turns out to be broken.
"""

from pathlib import Path

import msgspec

from fairlead.sim.traces.packed_rows import PackedRows
from fairlead.sim.traces.row_reader import RowReader
from fairlead.sim.traces.tally import TraceTally
from fairlead.sim.traces.trace_error import RowError, TraceError
from fairlead.sim.traces.trace_job import TraceJob
from fairlead.sim.traces.trace_lines import trace_lines


class TraceRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace holds."""

    rows: PackedRows
    repeated: frozenset[str]  # ids that more than one row has
    zero_unix_ms: int | None  # when the clock of the trace showed 0; None: not told


def read_rows(
    path: Path, reader: RowReader, tally: TraceTally, *, allow_broken: bool = False
) -> TraceRows:
    """Read a trace, and put into *tally* which of its rows give no job, and why.

    Raises `TraceError` if there is no job at all or, unless *allow_broken*, if more than one row
    in a hundred is broken.
    """
    rows = PackedRows()
    ids: set[str] = set()
    repeated: set[str] = set()
    for number, line in enumerate(trace_lines(path), start=1):
        try:
            row = reader.read(number, line)
        except RowError as wrong:
            tally.add_broken(number, wrong)
            continue
        if isinstance(row, TraceJob):
            rows.add(row)
            if row.id in ids:
                repeated.add(row.id)
            ids.add(row.id)
        elif row is not None:
            tally.dropped[row] += 1
    tally.rows = len(rows) + tally.dropped.total() + tally.broken
    _refuse_broken(tally, jobs=len(rows), allow_broken=allow_broken)
    return TraceRows(rows=rows, repeated=frozenset(repeated), zero_unix_ms=reader.zero_unix_ms)


def _refuse_broken(tally: TraceTally, *, jobs: int, allow_broken: bool) -> None:
    if jobs and (allow_broken or tally.broken * 100 <= tally.rows):
        return
    if tally.broken:
        head = f"{tally.file}: {tally.broken:,} of {tally.rows:,} rows are broken"
        fix = "correct them, or set allowBroken to read on all the same"
        raise TraceError(head, fix, list(map(str, tally.findings)))
    reasons = "".join(f"; {count:,} {why}" for why, count in tally.dropped.items())
    raise TraceError(
        f"{tally.file}: found no job that ran{reasons}", "name a log with jobs that did"
    )
