"""The rows of logs that this process has read, so that a log is not read again for each run.

A log is read when a scenario is checked, and then for each rule set and seed; a long one takes
seconds each time. Whether it is still the same is told by what the file system says of it. A file
that was written a moment ago may be written again without looking newer, so it is not remembered.
"""

import stat
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fairlead.sim.traces.read_rows import TraceRows
from fairlead.sim.traces.tally import TraceTally
from fairlead.sim.traces.trace_rules import TraceRules

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
    rows are told by line, so a log that has some is read each time.
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
    """Return what changes when the file does; None: nobody can tell."""
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
