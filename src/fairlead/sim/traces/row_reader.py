"""What every format of a log gives: a way to read one line, and what its clock means."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from fairlead.sim.traces.trace_job import TraceJob

TraceKind: TypeAlias = Literal["swf", "sacct", "csv"]

ReadLine: TypeAlias = Callable[[int, str], TraceJob | str | None]
"""Reads a line, given its number: a job, why it is left out, or None if it tells nothing.

Raises `RowError` if it is broken.
"""


class RowReader(msgspec.Struct, frozen=True, kw_only=True):
    """A format, as the head of one file tells it."""

    kind: TraceKind
    read: ReadLine
    zero_unix_ms: int | None  # when the clock of the trace showed 0; None: not told
