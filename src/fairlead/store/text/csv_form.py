"""Records of use as CSV: a column for each field of an entry, then one for each resource.

The line after the names of the columns may be of the type ``observed``; with them it is the head.
"""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

import msgspec

from fairlead.store.text.entry_text import (
    AMOUNT_FIELDS,
    FIELDS,
    BadLines,
    TextHead,
    check_head,
    csv_line,
    entry_of,
    whole_number,
)
from fairlead.usage.entries import Entry

COLUMNS: Final = ("type", "at_ms", "since_ms", "queue", "user", "name", "who", "reason")
UNLIMITED: Final = "unlimited"
OBSERVED: Final = "observed"
_NUMBERS: Final = ("at_ms", "since_ms")
_CURE: Final = "correct this line, or export it again with fairlead usage export -o csv"

_Row: TypeAlias = list[str] | csv.Error


def csv_lines(head: TextHead, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the head and one line for each entry; what an entry does not have is empty."""
    nothing = [""] * len(head.resources)
    yield csv_line([*COLUMNS, *head.resources])
    if head.observed_ms is not None:
        yield csv_line([OBSERVED, head.observed_ms, *[""] * (len(COLUMNS) - 2), *nothing])
    for entry in entries:
        plain = msgspec.to_builtins(entry)
        amounts = next((plain[field] for field in AMOUNT_FIELDS if field in plain), nothing)
        cells = ["" if (cell := plain.get(column)) is None else cell for column in COLUMNS]
        yield csv_line([*cells, *(UNLIMITED if each is None else each for each in amounts)])


def read_csv(
    lines: Iterable[str], bad: BadLines, until_ms: int
) -> tuple[TextHead, Iterator[tuple[int, Entry]]]:
    """Return the head, and the entries with the numbers of their lines, read as asked for.

    The last look must be before *until_ms*.
    """
    rows = _rows(lines)
    line, names = next(rows, (1, []))
    second = next(rows, (2, []))
    rest: Iterable[tuple[int, _Row]] = chain([second], rows)
    head = TextHead(resources=())
    try:
        head = TextHead(resources=_resources(names))
        check_head(head, until_ms)
        line, cells = second
        if isinstance(cells, list) and cells[:1] == [OBSERVED]:
            head = msgspec.structs.replace(head, observed_ms=_observed_ms(cells, head.resources))
            check_head(head, until_ms)
            rest = rows
    except ValueError as wrong:
        bad.add(line, str(wrong), _CURE)
        bad.raise_if_any()  # without resources no amount means anything
    return head, _entries(rest, len(COLUMNS) + len(head.resources), bad)


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, _Row]]:
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


def _resources(names: _Row) -> tuple[str, ...]:
    if isinstance(names, csv.Error) or tuple(names[: len(COLUMNS)]) != COLUMNS:
        raise ValueError(f"expected the columns {','.join(COLUMNS)} and then one for each resource")
    return tuple(names[len(COLUMNS) :])


def _entries(
    rows: Iterable[tuple[int, _Row]], count: int, bad: BadLines
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


def _observed_ms(cells: list[str], resources: tuple[str, ...]) -> int:
    _check_count(cells, len(COLUMNS) + len(resources))
    if any(cells[2:]):
        raise ValueError(f"found more than a time, expected only {OBSERVED} and at_ms")
    return whole_number(cells[1])


def _plain(cells: _Row, count: int) -> dict[str, object]:
    """Return what a row says, leaving out what is empty and has no place in its type of entry."""
    if isinstance(cells, csv.Error):
        raise ValueError(f"found no CSV: {cells}") from cells
    _check_count(cells, count)
    given = dict(zip(COLUMNS, cells, strict=False))
    if given["type"] not in FIELDS:
        return {"type": given["type"]}  # which tells all that is wrong
    fields = FIELDS[given["type"]]
    plain: dict[str, object] = {
        column: whole_number(cell) if column in _NUMBERS else cell
        for column, cell in given.items()
        if cell or column in fields
    }
    if given["type"] == "forgiven" and not given["queue"]:
        plain["queue"] = None  # everybody
    amounts = cells[len(COLUMNS) :]
    field = next((each for each in AMOUNT_FIELDS if each in fields), "")
    if field:
        may_be_all = given["type"] == "guarantee"
        plain[field] = [
            None if may_be_all and cell == UNLIMITED else whole_number(cell) for cell in amounts
        ]
    elif any(amounts):
        raise ValueError(f"found amounts, expected none for an entry of type {given['type']}")
    return plain


def _check_count(cells: list[str], count: int) -> None:
    if len(cells) != count:
        found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
        raise ValueError(f"found {found}, expected {count} as in the first line")
