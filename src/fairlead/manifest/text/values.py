"""What a document may hold once it is read.

Numbers are int or Decimal, so that 0.1 is one tenth; a float never occurs. A value that was
refused leaves `REFUSED` in its place: it was reported once and is not to be reported again.
"""

from decimal import Decimal
from typing import Final, TypeAlias

from fairlead.manifest.text.path import quote


class Refused:
    """The type of `REFUSED`."""

    def __repr__(self) -> str:
        return "REFUSED"


REFUSED: Final = Refused()

_MOST_DIGITS: Final = 40  # that are shown

Scalar: TypeAlias = bool | int | Decimal | str | None
Value: TypeAlias = "Scalar | Refused | list[Value] | dict[str, Value]"
Mapping: TypeAlias = dict[str, Value]


def describe(value: Value) -> str:
    """Say in a few words what a value is, as in "found the text "many""."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | Decimal():
            return f"the number {_short(_digits(value))}"
        case str():
            return f"the text {quote(value)}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "a refused value"


def height(value: Value) -> int:
    """Count how many mappings and lists stand within each other at the deepest place.

    A scalar has height 0. Cost: one look at every value; no recursion.
    """
    level: list[Value] = [value]
    levels = 0
    while containers := [each for each in level if isinstance(each, (dict, list))]:
        levels += 1
        level = [
            child
            for container in containers
            for child in (container.values() if isinstance(container, dict) else container)
        ]
    return levels


def _digits(number: int | Decimal) -> str:
    """Write a number as people do: 0.0000005 and 1e30, where Decimal has 5E-7 and 1E+30."""
    written = str(number)
    if "E-" in written and len(plain := f"{number:f}") <= _MOST_DIGITS:
        return plain
    return written.lower().replace("e+", "e")


def _short(digits: str) -> str:
    if len(digits) <= _MOST_DIGITS:
        return digits
    return f"{digits[:20]}... ({len(digits)} characters)"
