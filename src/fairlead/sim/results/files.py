"""The files of a result: JSON written as a whole, tables as CSV, a checksum of each, and errors.

Tables are the same bytes on every machine. The checksum reveals a table that was cut or edited.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import file_digest
from io import StringIO
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.results.csv_cells import original_text, safe_text
from fairlead.sim.results.own_files import OF_RUN, new_file, put_in_place


def not_written(path: Path, wrong: OSError) -> ResultError:
    """Say which file could not be written, and why."""
    return ResultError(f"cannot write {path}: {wrong.strerror or wrong}")


def not_read(path: Path, wrong: OSError) -> ResultError:
    """Say which file could not be read, and why."""
    if isinstance(wrong, FileNotFoundError):
        return ResultError(f"{path} is missing: simulate again, or restore it")
    return ResultError(f"cannot read {path}: {wrong.strerror or wrong}")


def damaged(path: Path, line: int | None, message: str) -> ResultError:
    """Say where a file is not as it was written."""
    place = str(path) if line is None else f"{path}:{line}"
    return ResultError(f"{place} is damaged: {message}; simulate again, or restore it")


def file_sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, as ``sha256sum`` prints it."""
    return {name: _sum(folder / name) for name in names}


def check_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Raise `ResultError` for the first file that is missing or not as it was written."""
    for name, expected in sums.items():
        if _sum(folder / name) != expected:
            raise damaged(folder / name, None, "it was cut or changed after it was written")


def _sum(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as wrong:
        raise not_read(path, wrong) from None


T = TypeVar("T")


def write_json(path: Path, document: Any, own: int = OF_RUN) -> None:
    """Put *document* there; until that is done, what was there before stays."""
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    try:
        put_in_place(path, text + b"\n", own)
    except OSError as wrong:
        raise not_written(path, wrong) from None


def read_json(path: Path, form: type[T]) -> T:
    """Return what stands there. Fields that are not known are left alone."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except OSError as wrong:
        raise not_read(path, wrong) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise damaged(path, None, str(wrong)) from None
    except RecursionError:
        raise damaged(path, None, "lists within lists, too deep to be read") from None


Cell: TypeAlias = str | int | float | None

LONGEST_CELL: Final = 131_072
"""Letters: the longest cell that Python's CSV reader and many others take."""

_MAY_NEED_QUOTES: Final = re.compile(r"[^\w.:/#-]")


def check_texts(cells: Iterable[Cell]) -> None:
    """Raise `ResultError` for a text that no table can hold."""
    for cell in cells:
        if isinstance(cell, str) and len(cell) > LONGEST_CELL:
            raise ResultError(
                f"found a name or text of {len(cell):,} letters that begins with {cell[:20]!r}, "
                f"expected at most {LONGEST_CELL:,}: shorten it"
            )


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return safe_text(cell)
    return "" if cell is None else str(cell)


def quoted(texts: Sequence[str]) -> str:
    """Return several cells as they stand in a line, without its end."""
    together = "".join(texts)
    if _MAY_NEED_QUOTES.search(together) is None and len(together) <= LONGEST_CELL:
        return ",".join(texts)  # nearly always, and quicker than a writer of tables
    check_texts(texts)
    line = StringIO()
    # Only with this end of line does Python 3.11 quote a carriage return in a name.
    csv.writer(line, lineterminator="\r\n").writerow(texts)
    return line.getvalue().removesuffix("\r\n")


class CsvFile:
    """A table that grows; None is an empty cell."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        """Begin the file anew with its head."""
        self._path = path
        try:
            self._stream = new_file(path, OF_RUN, encoding="utf-8", newline="")
        except OSError as wrong:
            raise not_written(path, wrong) from None
        self.add(columns)

    def add(self, cells: Sequence[Cell]) -> None:
        """Write one line."""
        self.add_text(quoted([_text(cell) for cell in cells]) + "\n")

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


def read_rows(path: Path, columns: Sequence[str], read: Callable[[list[str]], T]) -> Iterator[T]:
    """Yield what *read* makes of each row of a table that begins with *columns*.

    Raises `ResultError` with the line of the first row that has not as many cells, or that *read*
    refuses by a ValueError or a LookupError.
    """
    for line, cells in _rows(path, columns):
        try:
            row = read(cells)
        except (ValueError, LookupError) as wrong:
            raise damaged(path, line, f"found a row that cannot be: {wrong}") from None
        yield row


def given_cells(columns: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    """Return the cells that are not empty, by column."""
    return {column: cell for column, cell in zip(columns, cells, strict=True) if cell}


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line on which it begins: one with line breaks in it has several."""
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
                yield line, [original_text(cell) for cell in cells]
                line = lines.line_num + 1
    except OSError as wrong:
        raise not_read(path, wrong) from None
    except (UnicodeDecodeError, csv.Error) as wrong:
        raise damaged(path, None, f"found no table: {wrong}") from None
