"""Tables as text, line by line: the same bytes on every machine, and errors that say which file."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from fairlead.errors import ResultError
from fairlead.sim.results.file_errors import damaged, not_read, not_written

Cell: TypeAlias = str | int | float | None

LONGEST_CELL: Final = 131_072
"""Letters: what Python's reader of tables takes, and with it those of many others."""

_MAY_NEED_QUOTES: Final = re.compile(r"[^\w.:/#-]")


def check_texts(cells: Iterable[Cell]) -> None:
    """Raise `ResultError` for a text that no table can hold."""
    for cell in cells:
        if isinstance(cell, str) and len(cell) > LONGEST_CELL:
            raise ResultError(
                f"found a name or text of {len(cell):,} letters that begins with {cell[:20]!r}, "
                f"expected at most {LONGEST_CELL:,}: shorten it"
            )


class _PlainLines:
    """Ends each line of a table as text files do."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        return self._stream.write(line.removesuffix("\r\n") + "\n")


def quoted(texts: Sequence[str]) -> str:
    """Return several cells as they stand in a line, without its end."""
    together = "".join(texts)
    if _MAY_NEED_QUOTES.search(together) is None and len(together) <= LONGEST_CELL:
        return ",".join(texts)  # nearly always, and quicker than a writer of tables
    check_texts(texts)
    line = StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(texts)
    return line.getvalue().removesuffix("\r\n")


class CsvFile:
    """A table that grows; None is an empty cell."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        """Begin the file anew with its head."""
        self._path = path
        try:
            self._stream = path.open("w", encoding="utf-8", newline="")
        except OSError as wrong:
            raise not_written(path, wrong) from None
        # Only with this end of line does Python 3.11 quote a carriage return in a name.
        self._write = csv.writer(_PlainLines(self._stream), lineterminator="\r\n").writerow
        self.add(columns)

    def add(self, cells: Sequence[Cell]) -> None:
        """Write one line."""
        try:
            length = self._write(cells)
        except OSError as wrong:
            raise not_written(self._path, wrong) from None
        if length > LONGEST_CELL:  # else no cell is
            check_texts(cells)

    def add_text(self, lines: str) -> None:
        """Write lines that are ready, each with its end; `quoted` makes the texts in them."""
        try:
            self._stream.write(lines)
        except OSError as wrong:
            raise not_written(self._path, wrong) from None

    def close(self) -> None:
        """Write what is still on its way."""
        try:
            self._stream.close()
        except OSError as wrong:
            raise not_written(self._path, wrong) from None


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that begins with *columns*, each with as many cells as these.

    With each comes the line on which it begins: a row with a line break in a name has several.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = csv.reader(stream, strict=True)
            if (head := next(lines, [])) != list(columns):
                raise damaged(path, 1, f"found the columns {head}, expected {list(columns)}")
            line = lines.line_num + 1
            for cells in lines:
                if len(cells) != len(columns):
                    message = f"found {len(cells)} cells, expected {len(columns)}"
                    raise damaged(path, line, message)
                yield line, cells
                line = lines.line_num + 1
    except OSError as wrong:
        raise not_read(path, wrong) from None
    except (UnicodeDecodeError, csv.Error) as wrong:
        raise damaged(path, None, f"found no table: {wrong}") from None


def number(text: str) -> int | None:
    """Return what a cell says; None if it is empty. Raises ValueError."""
    return int(text) if text else None
