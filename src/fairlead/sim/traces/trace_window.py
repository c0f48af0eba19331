"""Which part of a trace is taken, by time since its first job or by date."""

import msgspec

from fairlead.sim.traces.trace_error import TraceError
from fairlead.sim.traces.trace_rules import TraceRules


class TraceWindow(msgspec.Struct, frozen=True, kw_only=True):
    """From when until when jobs are taken, on the clock of the trace; None: without an end."""

    from_ms: int
    until_ms: int | None


def trace_window(rules: TraceRules, first_ms: int, zero_unix_ms: int | None) -> TraceWindow:
    """Return the part of the trace that all cuts leave.

    Raises `TraceError` if it is cut by date and nobody knows the date, or if nothing can be left.
    """
    since = [first_ms]
    until = []
    if rules.from_ms is not None:
        since.append(first_ms + rules.from_ms)
    if rules.until_ms is not None:
        until.append(first_ms + rules.until_ms)
    if rules.from_unix_ms is not None:
        since.append(rules.from_unix_ms - _known(zero_unix_ms))
    if rules.until_unix_ms is not None:
        until.append(rules.until_unix_ms - _known(zero_unix_ms))
    window = TraceWindow(from_ms=max(since), until_ms=min(until, default=None))
    if window.until_ms is not None and window.until_ms <= window.from_ms:
        raise TraceError(
            "the cut leaves nothing: it ends before it begins, or before the trace",
            "cut off less",
        )
    return window


def _known(zero_unix_ms: int | None) -> int:
    if zero_unix_ms is None:
        raise TraceError(
            "the trace does not tell its dates",
            "cut it by time since its first job (from, until); an SWF log tells its dates in a "
            'line such as "; UnixStartTime: 1000000000"',
        )
    return zero_unix_ms
