"""The jobs of a trace in a window of time, ready for a simulation.

A log is read when a scenario is checked, and then for each rule set and seed; a long one takes
seconds each time. So its rows are kept while the file system says that the file is the same. A file
that was written a moment ago may be written again without looking newer: it is not kept.
"""

import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.job_maker import JobMaker
from fairlead.sim.traces.read_rows import TraceRows, read_rows
from fairlead.sim.traces.tally import TraceTally
from fairlead.sim.traces.trace_format import row_reader_of
from fairlead.sim.traces.trace_job import TraceError
from fairlead.sim.traces.trace_rules import TraceRules, check_rules


class TraceWindow(msgspec.Struct, frozen=True, kw_only=True):
    """From when until when jobs are taken, on the clock of the trace; None: without an end."""

    from_ms: int
    until_ms: int | None


def trace_window(rules: TraceRules, first_ms: int, zero_unix_ms: int | None) -> TraceWindow:
    """Return the part of the trace that all cuts leave.

    Raises `TraceError` if it is cut by date and has no dates, or if nothing can be left.
    """
    since = [first_ms]
    until = []
    if rules.from_ms is not None:
        since.append(first_ms + rules.from_ms)
    if rules.until_ms is not None:
        until.append(first_ms + rules.until_ms)
    if rules.from_unix_ms is not None:
        since.append(rules.from_unix_ms - _known_edge(zero_unix_ms))
    if rules.until_unix_ms is not None:
        until.append(rules.until_unix_ms - _known_edge(zero_unix_ms))
    window = TraceWindow(from_ms=max(since), until_ms=min(until, default=None))
    if window.until_ms is not None and window.until_ms <= window.from_ms:
        raise TraceError(
            "the cut leaves nothing: it ends before it begins, or before the trace",
            "cut off less",
        )
    return window


def _known_edge(zero_unix_ms: int | None) -> int:
    if zero_unix_ms is None:
        raise TraceError(
            "the trace has no dates",
            "cut it by time since its first job (from, until); an SWF log has its dates in a "
            'line such as "; UnixStartTime: 1000000000"',
        )
    return zero_unix_ms


MOST_LOGS: Final = 4
"""More than one run takes work from at a time, which needs their rows in memory anyway."""

_SETTLED_NS: Final = 2_000_000_000
"""The coarsest clock of a file system in use."""

_Stamp: TypeAlias = tuple[int, ...]


class _KnownLog(NamedTuple):
    path: Path
    stamp: _Stamp
    rules: TraceRules  # as far as they decide how a log is read
    trace: TraceRows
    dropped: Counter[str]


_known: Final[list[_KnownLog]] = []  # the latest last


def read_once(
    path: Path, rules: TraceRules, tally: TraceTally, read: Callable[[], TraceRows]
) -> TraceRows:
    """Return what *read* gives, which reads the log at *path* by *rules* into an empty *tally*.

    If that is known already it is not called, and *tally* gets what it would have put there. Broken
    rows are reported by line, so a log that has some is read each time.
    """
    path = path.absolute()
    stamp, reading = _stamp_of(path), _of_reading(rules)
    for known in _known:
        if (known.path, known.stamp, known.rules) == (path, stamp, reading):
            tally.dropped.update(known.dropped)
            tally.rows = len(known.trace.rows) + known.dropped.total()
            return known.trace
    trace = read()
    if stamp is not None and not tally.broken and _stamp_of(path) == stamp:
        _known.append(_KnownLog(path, stamp, reading, trace, Counter(tally.dropped)))
        del _known[:-MOST_LOGS]
    return trace


def _stamp_of(path: Path) -> _Stamp | None:
    """Return what changes when the file does; None: that is not known."""
    try:
        about = path.stat()
    except OSError:
        return None
    newest_ns = max(about.st_mtime_ns, about.st_ctime_ns)
    if not stat.S_ISREG(about.st_mode) or time.time_ns() - newest_ns < _SETTLED_NS:
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _of_reading(rules: TraceRules) -> TraceRules:
    """Return *rules* without those that only say what rows mean."""
    return TraceRules(
        kind=rules.kind,
        columns=rules.columns,
        time_zone=rules.time_zone,
        allow_broken=rules.allow_broken,
    )


BEFORE: Final = "came before the cut"
AFTER: Final = "came after the cut"
BEYOND: Final = "came after as many jobs as were wanted"
CUT_OFF: Final = frozenset({BEFORE, AFTER, BEYOND})
"""Why rows give no job that the rules cut off on purpose."""


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
