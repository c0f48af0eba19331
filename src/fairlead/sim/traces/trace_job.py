"""One job as a log describes it, the reader of one line, and the error of an unusable log."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.errors import SimulationError


class TraceError(SimulationError):
    """The trace was refused; the message names the file, what was found and what helps."""

    def __init__(
        self, problem: str, fix: str, details: Sequence[str] = (), *, field: str = ""
    ) -> None:
        """Note what is wrong, and what its user can do; *field* is that of the rules, if it is."""
        super().__init__("\n".join([f"{problem}; {fix}", *details]))
        self.problem = problem
        self.fix = fix
        self.field = field


class RowError(ValueError):
    """One row is broken; the reader goes on, and its caller counts."""

    def __init__(self, column: str, message: str) -> None:
        """Note which *column* is wrong, and how."""
        super().__init__(message)
        self.column = column


CPU: Final = "cpu"
MEMORY: Final = "memory"
GPU: Final = "nvidia.com/gpu"
WHOLE_GPU: Final = 1000  # amounts of devices are in thousandths

MOST_PODS: Final = 100_000
"""More pods of one job than any cluster has room for; a trace with more is damaged."""
MOST_PRIORITY: Final = 2**31 - 1  # what Kubernetes can hold

Asks: TypeAlias = tuple[tuple[str, int], ...]
"""What a whole job asks for: resources and their amounts in base units, each resource once."""


class TraceJob(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A row of a trace. Texts that the trace does not have are empty, numbers None.

    A resource that is missing in ``asks`` is not in the trace; one with the amount 0 is, as
    nothing. Jobs of the same size have the same ``asks``, so a row is small.
    """

    id: str
    submit_ms: int  # on the clock of the trace
    run_ms: int | None
    user: str = ""
    group: str = ""
    queue: str = ""
    asks: Asks = ()
    pods: int = 1  # over how many pods or nodes ``asks`` is spread
    priority: int | None = None
    asked_ms: int | None = None  # the run time that its owner asked for
    wait_ms: int | None = None  # how long it really waited


TraceKind: TypeAlias = Literal["swf", "sacct", "csv"]

ReadLine: TypeAlias = Callable[[int, str], TraceJob | str | None]
"""Reads a line, given its number: a job, why it is left out, or None if it holds nothing.

Raises `RowError` if it is broken.
"""


class RowReader(msgspec.Struct, frozen=True, kw_only=True):
    """A format, as the head of one file describes it."""

    kind: TraceKind
    read: ReadLine
    zero_unix_ms: int | None  # when the clock of the trace showed 0; None: not known
