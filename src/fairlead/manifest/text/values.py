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
            return f"the number {_short(str(value))}"
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


def _short(digits: str) -> str:
    return digits if len(digits) <= 40 else f"{digits[:20]}... ({len(digits)} characters)"
