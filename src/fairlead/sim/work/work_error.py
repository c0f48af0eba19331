"""What can be wrong with a description of work, by field.

A reader of files finds every defect of a description and reports each with its line; making a
source from a wrong description raises the first of them.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final, TypeAlias

from fairlead.errors import SimulationError

Real: TypeAlias = int | Decimal
"""A number that need not be whole; exact, as it was written."""

_MAX_DIGITS: Final = 30


class WorkError(SimulationError):
    """A description of work means nothing; says which field, what was found and expected."""

    def __init__(self, field: str, problem: str, fix: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field  # such as shapes[1].run_ms.sigma
        self.problem = problem
        self.fix = fix  # what its user can do


def whole_number_defects(
    value: int, field: str, *, lowest: int, highest: int | None = None
) -> Iterator[WorkError]:
    """Yield an error if a whole number lies outside of its bounds."""
    if value < lowest:
        yield WorkError(
            field, f"found {value}, expected at least {lowest}", f"write {lowest} or more"
        )
    elif highest is not None and value > highest:
        yield WorkError(
            field, f"found {value}, expected at most {highest}", f"write {highest} or less"
        )


def real_problem(value: Real) -> str | None:
    """What is wrong with a number for any use; None: nothing.

    A few characters such as 1E+999999 would otherwise cost minutes and all memory.
    """
    number = Decimal(value)
    if not number.is_finite():
        return f"found {value}, expected a number"
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if number.adjusted() >= _MAX_DIGITS or exponent < -_MAX_DIGITS:
        return f"expected at most {_MAX_DIGITS} digits on either side of the decimal point"
    return None


def positive_defects(
    value: Real, field: str, *, lowest: Real = 0, highest: Real | None = None
) -> Iterator[WorkError]:
    """Yield an error if a number is not above zero, or outside of its bounds."""
    problem, fix = real_problem(value), "write a number of ordinary size"
    if problem is None and value <= 0:
        problem, fix = f"found {value}, expected more than 0", "write a number above 0"
    elif problem is None and value < lowest:
        problem, fix = f"found {value}, expected at least {lowest}", f"write {lowest} or more"
    elif problem is None and highest is not None and value > highest:
        problem, fix = f"found {value}, expected at most {highest}", f"write {highest} or less"
    if problem is not None:
        yield WorkError(field, problem, fix)


def span_defects(from_ms: int, until_ms: int | None, field: str) -> Iterator[WorkError]:
    """Yield an error if a span begins before time does, or ends before it begins."""
    yield from whole_number_defects(from_ms, f"{field}from_ms", lowest=0)
    if until_ms is not None and until_ms <= from_ms:
        yield WorkError(
            f"{field}until_ms",
            f"found {until_ms}, expected more than from_ms, {from_ms}",
            "write a later until_ms or an earlier from_ms",
        )
