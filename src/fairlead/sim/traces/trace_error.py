"""A trace, or what was asked of it, that cannot be used."""

from collections.abc import Sequence

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
    """One row is broken; the reader goes on, and whoever drives it keeps the books."""

    def __init__(self, column: str, message: str) -> None:
        """Note which *column* is wrong, and how."""
        super().__init__(message)
        self.column = column
