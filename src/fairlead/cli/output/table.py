"""Plain aligned tables, as kubectl prints them."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from fairlead.explain.text.names import printable

_WIDE: Final = ("W", "F")
_MARKS: Final = ("Mn", "Me")  # written over or around the letter before them


def display_width(text: str) -> int:
    """Return the columns of *text*, which is printable. Cost: a look at each letter."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(letter: str) -> int:
    if unicodedata.category(letter) in _MARKS:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in _WIDE else 1


def table_text(rows: Sequence[Sequence[str]], *, left: int = 1, indent: str = "") -> str:
    """Return *rows* with aligned columns, the first *left* ones to the left, numbers to the right.

    A column without any text below its title is left out. A cell is one line, whatever is in it.
    """
    if not rows:
        return ""
    columns = [list(map(printable, column)) for column in zip(*rows, strict=True)]
    kept = [
        (column, at < left) for at, column in enumerate(columns) if at < left or any(column[1:])
    ]
    padded = [_padded(column, is_left) for column, is_left in kept]
    return "\n".join((indent + "  ".join(row)).rstrip() for row in zip(*padded, strict=True))


def _padded(column: Sequence[str], is_left: bool) -> list[str]:
    widths = list(map(display_width, column))
    widest = max(widths)
    blanks = [" " * (widest - width) for width in widths]
    return [
        f"{text}{blank}" if is_left else f"{blank}{text}"
        for text, blank in zip(column, blanks, strict=True)
    ]
