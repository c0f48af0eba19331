"""How many columns of a terminal a text takes: letters of East Asia two, combining marks none."""

import unicodedata
from typing import Final

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
