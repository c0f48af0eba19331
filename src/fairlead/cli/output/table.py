"""Plain aligned tables, as kubectl prints them."""

import csv
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from fairlead.explain.text.names import display_width, printable, short_name
from fairlead.sim.results.csv_cells import safe_text

Column: TypeAlias = tuple[list[str], bool]
"""The cells of a column, the title first, and whether it holds words, which go to the left."""

GAP: Final = 2
LEAST_WIDTH: Final = 40
LEAST_NAME: Final = 12
LEAST_WRAPPED: Final = 24


def terminal_width() -> int | None:
    """Return how wide tables may be: as the terminal, or unlimited where the output is no terminal.

    A pipe or a file gets every row on one line, whatever COLUMNS says, so that programs and
    comparisons see the same everywhere.
    """
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def wrapped(text: str, indent: str = "", *, wide: bool = False) -> str:
    """Return a printable sentence, wrapped to the terminal unless *wide*."""
    width = None if wide else terminal_width()
    if width is None:
        return indent + text
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)


def table_text(
    rows: Sequence[Sequence[str]], *, left: int = 1, indent: str = "", wide: bool = False
) -> str:
    """Return *rows* with aligned columns, the first *left* ones to the left, numbers to the right.

    A column without any text below its title is left out. On a terminal that is too narrow, long
    names are shortened and the last column of words is wrapped; if that is not enough, the table
    is continued below itself, with the words repeated. *wide* prints one line for each row.
    """
    if not rows:
        return ""
    columns = [list(map(printable, column)) for column in zip(*rows, strict=True)]
    kept = [
        (column, at < left) for at, column in enumerate(columns) if at < left or any(column[1:])
    ]
    width = None if wide else terminal_width()
    if width is None:
        return _lines(kept, indent)
    return "\n\n".join(_lines(part, indent) for part in _fitted(kept, width - len(indent)))


def _lines(columns: Sequence[Column], indent: str) -> str:
    """Return the columns side by side; a cell of several lines makes its row so many lines high."""
    heights = [max(cell.count("\n") for cell in row) + 1 for row in _rows(columns)]
    padded = [_padded(_flat(column, heights), is_left) for column, is_left in columns]
    return "\n".join((indent + "  ".join(row)).rstrip() for row in zip(*padded, strict=True))


def _flat(column: Sequence[str], heights: Sequence[int]) -> list[str]:
    """Return every line of every cell, with blank lines above a title and below other cells."""
    lines: list[str] = []
    for cell, height in zip(column, heights, strict=True):
        own = cell.split("\n")
        blank = [""] * (height - len(own))
        lines += [*own, *blank] if lines else [*blank, *own]
    return lines


def _fitted(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Yield the columns so that they fit: as one table, or as several with the words repeated."""
    words = [column for column, is_left in columns if is_left]
    numbers = [_with_short_title(column) for column, is_left in columns if not is_left]
    least = max(map(_column_width, numbers), default=0) + GAP if numbers else 0
    shown = [(column, True) for column in _fitted_words(words, width - least)]
    room = width - _total(shown)
    part: list[Column] = []
    for column in numbers:
        if part and _total(part) + GAP + _column_width(column) + GAP > room:
            yield [*shown, *part]
            part = []
        part.append((column, False))
    yield [*shown, *part]


def _fitted_words(columns: list[list[str]], width: int) -> list[list[str]]:
    """Shorten the widest columns but the last, then wrap the last, until they fit if they can."""
    *names, last = columns
    while names and _sum(names) + GAP + min(_column_width(last), LEAST_WRAPPED) > width:
        widest = max(names, key=_column_width)
        if _column_width(widest) <= LEAST_NAME:
            break
        size = _column_width(widest) - 1
        at = next(at for at, column in enumerate(names) if column is widest)
        names[at] = [short_name(cell, size) for cell in widest]
    room = max(LEAST_WRAPPED, width - (_sum(names) + GAP if names else 0))
    if _column_width(last) > room:
        last = ["\n".join(textwrap.wrap(cell, room)) for cell in last]
    return [*names, last]


def _with_short_title(column: list[str]) -> list[str]:
    """Break a title that is wider than all numbers below it, at hyphens and blanks; not GPU-h."""
    title, *cells = column
    if display_width(title) <= max(map(display_width, cells), default=0):
        return column
    return ["\n".join(re.findall(r"[^- ]+(?:-h\b|-)?", title)) or title, *cells]


def _rows(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    return zip(*(column for column, _ in columns), strict=True)


def _column_width(column: Sequence[str]) -> int:
    return max(display_width(line) for cell in column for line in cell.split("\n"))


def _sum(columns: Sequence[Sequence[str]]) -> int:
    return sum(map(_column_width, columns)) + GAP * (len(columns) - 1)


def _total(columns: Sequence[Column]) -> int:
    return _sum([column for column, _ in columns])


def _padded(column: Sequence[str], is_left: bool) -> list[str]:
    widths = list(map(display_width, column))
    widest = max(widths)
    blanks = [" " * (widest - width) for width in widths]
    return [
        f"{text}{blank}" if is_left else f"{blank}{text}"
        for text, blank in zip(column, blanks, strict=True)
    ]


def csv_line(cells: Iterable[object]) -> str:
    """Return *cells* as one row of CSV, with its end of line.

    Law: the standard library's reader returns the same cells as texts, but for the apostrophe
    before one that a spreadsheet would take for a formula.
    """
    text = io.StringIO(newline="")
    # Only with this end of line does Python 3.11 quote a carriage return in a name.
    csv.writer(text, lineterminator="\r\n").writerow(
        safe_text(cell) if isinstance(cell, str) else cell for cell in cells
    )
    return text.getvalue().removesuffix("\r\n") + "\n"
