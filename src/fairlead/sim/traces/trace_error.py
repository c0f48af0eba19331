"""A trace, or what was asked of it, that cannot be used."""

from fairlead.errors import SimulationError


class TraceError(SimulationError):
    """The trace was refused; the message names the file, what was found and what helps."""


class RowError(ValueError):
    """One row is broken; the reader goes on, and whoever drives it keeps the books."""

    def __init__(self, column: str, message: str) -> None:
        """Note which *column* is wrong, and how."""
        super().__init__(message)
        self.column = column
