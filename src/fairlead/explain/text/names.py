"""Names in sentences and tables: printable, and only the first few of many."""

from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import category, east_asian_width

from fairlead.manifest.text.path import quote


def printable(text: str) -> str:
    r"""Return *text* with ``\n``, ``\u001b`` and the like in the place of what is not printable.

    Law: the result is one line, and equals *text* where that is printable. Written as in findings.
    """
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() else quote(each)[1:-1] for each in text])


MOST_NAMES: Final = 3
ELLIPSIS: Final = "…"
_MARKS: Final = ("Mn", "Me")  # written over or around the letter before them


def first_few(names: Sequence[str]) -> str:
    """Return at most `MOST_NAMES` of *names*, then ``and 5 more``."""
    left_out = len(names) - MOST_NAMES
    return ", ".join([*names[:MOST_NAMES], *([f"and {left_out} more"] if left_out > 0 else ())])


def short_name(name: str, columns: int) -> str:
    """Return *name*, or its begin and end around an ellipsis, at most so many *columns* wide.

    The end is kept because that is where long names differ. A wide letter, as in Chinese, takes
    two columns.
    """
    if display_width(name) <= columns:
        return name
    room = columns - 1
    head, tail = _first(name, room - room // 2), _first(reversed(name), room // 2)
    return head + ELLIPSIS + tail[::-1]


def _first(letters: Iterable[str], columns: int) -> str:
    taken = []
    for letter in letters:
        columns -= _columns(letter)
        if columns < 0:
            break
        taken.append(letter)
    return "".join(taken)


def display_width(text: str) -> int:
    """Return the columns of *text*, which is printable. Cost: a look at each letter."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if category(letter) in _MARKS:
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1
