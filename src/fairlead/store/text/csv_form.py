"""Records of use as CSV: a column for each field of an entry, then one for each resource."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from fairlead.store.text.bad_lines import BadLines
from fairlead.store.text.plain_entry import AMOUNT_FIELDS, FIELDS, check_resources, entry_of
from fairlead.usage.entries import Entry

COLUMNS: Final = ("type", "at_ms", "since_ms", "queue", "user", "name", "who", "reason")
UNLIMITED: Final = "unlimited"
_NUMBERS: Final = ("at_ms", "since_ms")
_CURE: Final = "correct this line, or export it again with fairlead usage export -o csv"


def csv_lines(resources: tuple[str, ...], entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the head and one line for each entry; what an entry does not have is empty."""
    nothing = [""] * len(resources)
    yield _line([*COLUMNS, *resources])
    for entry in entries:
        plain = msgspec.to_builtins(entry)
        amounts = next((plain[field] for field in AMOUNT_FIELDS if field in plain), nothing)
        cells = ["" if (cell := plain.get(column)) is None else cell for column in COLUMNS]
        yield _line([*cells, *(UNLIMITED if each is None else each for each in amounts)])


def read_csv(
    lines: Iterable[str], bad: BadLines
) -> tuple[tuple[str, ...], Iterator[tuple[int, Entry]]]:
    """Return the resources, and the entries with the numbers of their lines, read as asked for."""
    rows = _rows(lines)
    resources: list[str] = []
    try:
        _, head = next(rows, (1, []))
        resources = _resources(head)
    except ValueError as wrong:
        bad.add(1, str(wrong), _CURE)
        bad.raise_if_any()  # without resources no amount means anything
    return tuple(resources), _entries(rows, len(COLUMNS) + len(resources), bad)


def _line(cells: list[object]) -> str:
    text = io.StringIO(newline="")
    # Only with this end of line does Python 3.11 quote a carriage return in a name.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield each row, or why it is none, with the number of its first line; it may have several."""
    reader = csv.reader(lines, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except csv.Error as wrong:
            yield line, wrong
        except StopIteration:
            return


def _resources(head: list[str] | csv.Error) -> list[str]:
    if isinstance(head, csv.Error) or tuple(head[: len(COLUMNS)]) != COLUMNS:
        raise ValueError(f"expected the columns {','.join(COLUMNS)} and then one for each resource")
    resources = head[len(COLUMNS) :]
    check_resources(resources)
    return resources


def _entries(
    rows: Iterable[tuple[int, list[str] | csv.Error]], count: int, bad: BadLines
) -> Iterator[tuple[int, Entry]]:
    for line, cells in rows:
        if not cells:
            continue
        try:
            entry = entry_of(_plain(cells, count))
        except ValueError as wrong:
            bad.add(line, str(wrong), _CURE)
            continue
        yield line, entry


def _plain(cells: list[str] | csv.Error, count: int) -> dict[str, object]:
    """Return what a row says, leaving out what is empty and has no place in its type of entry."""
    if isinstance(cells, csv.Error):
        raise ValueError(str(cells)) from cells
    if len(cells) != count:
        raise ValueError(f"found {len(cells)} cells, expected {count} as in the first line")
    given = dict(zip(COLUMNS, cells, strict=False))
    if given["type"] not in FIELDS:
        return {"type": given["type"]}  # which tells all that is wrong
    fields = FIELDS[given["type"]]
    plain: dict[str, object] = {
        column: _number(cell) if column in _NUMBERS else cell
        for column, cell in given.items()
        if cell or column in fields
    }
    if given["type"] == "forgiven" and not given["queue"]:
        plain["queue"] = None  # everybody
    amounts = cells[len(COLUMNS) :]
    field = next((each for each in AMOUNT_FIELDS if each in fields), "")
    if field:
        plain[field] = [None if cell == UNLIMITED else _number(cell) for cell in amounts]
    elif any(amounts):
        raise ValueError(f"found amounts, expected none for an entry of type {given['type']}")
    return plain


def _number(cell: str) -> int:
    """Only digits with a sign: what else int() takes is a slip in a table."""
    digits = cell.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"found {cell!r}, expected a whole number")
    return int(cell)
