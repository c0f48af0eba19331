"""The work of a trace, ready for a simulation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairlead.sim.job import Job
from fairlead.sim.traces.job_maker import JobMaker
from fairlead.sim.traces.known_rows import read_once
from fairlead.sim.traces.read_rows import TraceRows, read_rows
from fairlead.sim.traces.tally import TraceTally
from fairlead.sim.traces.tell_kind import row_reader_of
from fairlead.sim.traces.trace_error import TraceError
from fairlead.sim.traces.trace_rules import TraceRules, check_rules
from fairlead.sim.traces.trace_window import TraceWindow, trace_window

BEFORE: Final = "came before the cut"
AFTER: Final = "came after the cut"
BEYOND: Final = "came after as many jobs as were wanted"
CUT_OFF: Final = frozenset({BEFORE, AFTER, BEYOND})
"""Why rows give no job that somebody wanted to give none."""


def jobs_of_trace(
    path: Path,
    rules: TraceRules | None = None,
    tally: TraceTally | None = None,
    *,
    later_ms: int = 0,
) -> Iterator[Job]:
    """Return the jobs of a trace by the time at which they come; *tally* gets the books.

    All of them come *later_ms* later than the rules say. Names are the ids of the trace, and the
    second job of one id is ``id#2``. Same file and rules, same jobs. Raises `TraceError` at once if
    the trace or the rules cannot be used. Memory: some 110 bytes for each row, which are kept for
    the next time that it is read.
    """
    rules, tally = rules or TraceRules(), tally or TraceTally()
    check_rules(rules)
    trace = _read(path, rules, tally)
    zero_unix_ms = trace.zero_unix_ms if rules.zero_unix_ms is None else rules.zero_unix_ms
    window = trace_window(rules, trace.rows.first_ms, zero_unix_ms)
    return _jobs(trace, JobMaker(rules, trace.repeated, later_ms), window, rules, tally)


def _read(path: Path, rules: TraceRules, tally: TraceTally) -> TraceRows:
    tally.file = tally.file or str(path)
    try:
        time_zone = ZoneInfo(rules.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as wrong:
        raise TraceError(
            f"found the time zone {rules.time_zone!r}, expected one that is known here",
            "write such as Europe/Berlin",
        ) from wrong

    def read() -> TraceRows:
        reader = row_reader_of(path, rules.kind, rules.columns, time_zone)
        return read_rows(path, reader, tally, allow_broken=rules.allow_broken)

    return read_once(path, rules, tally, read)


def _jobs(
    trace: TraceRows, make: JobMaker, window: TraceWindow, rules: TraceRules, tally: TraceTally
) -> Iterator[Job]:
    seen = given = 0
    why_no_more = ""
    for row in trace.rows.in_order():
        if window.until_ms is not None and row.submit_ms >= window.until_ms:
            why_no_more = AFTER
        elif given == rules.first_jobs:
            why_no_more = BEYOND
        if why_no_more:
            tally.dropped[why_no_more] += len(trace.rows) - seen
            return
        seen += 1
        made = BEFORE if row.submit_ms < window.from_ms else make.job_of(row)
        if isinstance(made, str):
            tally.dropped[made] += 1
            continue
        given += 1
        tally.given = given
        tally.sharing_gpu += make.shares_gpu
        yield made
