"""All usable rows of a trace, in the order of submission, and a count of the others.

A log need not be sorted, and whether it is usable is known at its end only. So all rows are read
before any job is given, and kept as packed bytes: some 110 for a row that takes 600 as an object.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import Finding
from fairlead.sim.traces.trace_job import RowError, RowReader, TraceError, TraceJob
from fairlead.sim.traces.trace_lines import trace_lines

MOST_FINDINGS: Final = 10
"""Broken rows beyond these are only counted: they mostly have one cause."""
MOST_CHARACTERS: Final = 200
BROKEN_ROW: Final = "broken-row"


class TraceTally:
    """The books of one reading of a trace.

    Law: once all jobs were taken, ``rows`` is ``given`` plus all that was dropped plus ``broken``.
    """

    def __init__(self, file: str = "") -> None:
        """Begin with nothing read; *file* is how the trace is called."""
        self.file = file
        self.rows = 0  # with something in them that is not a heading or a comment
        self.given = 0
        self.broken = 0
        self.dropped: Counter[str] = Counter()  # by reason
        self.findings: list[Finding] = []  # about the first broken rows

    def add_broken(self, line: int, wrong: RowError) -> None:
        """Count a broken row, and keep what is wrong if it is among the first."""
        self.broken += 1
        if len(self.findings) >= MOST_FINDINGS:
            return
        message = str(wrong)
        if len(message) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2  # the end says what was expected
            message = f"{message[:half]}...{message[-half:]}"
        self.findings.append(
            Finding(
                severity="warning",
                code=BROKEN_ROW,
                file=self.file,
                line=line,
                path=wrong.column,
                message=message,
                fix="correct or remove this row",
            )
        )


class PackedRows:
    """Rows that were added, of which one at a time becomes an object again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._packed = bytearray()
        self._ends = array("q", [0])  # where each row ends in the bytes, and the next begins
        self._submit_ms = array("q")
        self._is_sorted = True
        self._encoder = msgspec.msgpack.Encoder()

    def __len__(self) -> int:
        return len(self._submit_ms)

    @property
    def first_ms(self) -> int:
        """When the first job came, on the clock of the trace; there must be one."""
        return min(self._submit_ms)

    def add(self, row: TraceJob) -> None:
        """Keep a row."""
        if self._submit_ms and row.submit_ms < self._submit_ms[-1]:
            self._is_sorted = False
        self._submit_ms.append(row.submit_ms)
        self._encoder.encode_into(row, self._packed, -1)
        self._ends.append(len(self._packed))

    def in_order(self) -> Iterator[TraceJob]:
        """Yield the rows by when the jobs came; those of one moment as they were added.

        Cost: O(n) if they were added in that order, else O(n log n).
        """
        places: range | list[int] = range(len(self))
        if not self._is_sorted:
            places = sorted(places, key=self._submit_ms.__getitem__)
        decode = msgspec.msgpack.Decoder(TraceJob).decode
        packed = memoryview(self._packed)
        for place in places:
            yield decode(packed[self._ends[place] : self._ends[place + 1]])


class TraceRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace holds."""

    rows: PackedRows
    repeated: frozenset[str]  # ids that more than one row has
    zero_unix_ms: int | None  # when the clock of the trace showed 0; None: not known


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
