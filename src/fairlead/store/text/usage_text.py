"""Exported usage, for backups, spreadsheets and other programs: JSON lines or CSV.

Both forms hold the same: first the names of the resources and the time of the last observation,
then one entry in each line, in the order in which a ledger takes them. Amounts are whole base units
and times are milliseconds, so that nothing is rounded on the way out or in.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from fairlead.errors import UsageError
from fairlead.store.text.csv_form import csv_lines, read_csv
from fairlead.store.text.entry_text import (
    AMOUNT_FIELDS,
    END_OF_TIME_MS,
    BadLines,
    TextHead,
    check_moment,
)
from fairlead.store.text.json_lines import json_lines, read_json_lines
from fairlead.usage.entries import Entry
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding

TextForm: TypeAlias = Literal["jsonl", "csv"]

_SOME_WINDOW = Sliding(1)


class UsageText(msgspec.Struct, frozen=True, kw_only=True):
    """What a text holds: entries with one amount for each of the resources of its head."""

    head: TextHead
    entries: list[Entry]


def usage_lines(form: TextForm, head: TextHead, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a text, each with its end of line.

    Law: `read_usage` gives back an equal head and equal entries.
    """
    write = json_lines if form == "jsonl" else csv_lines
    return write(head, entries)


def read_usage(
    form: TextForm, lines: Iterable[str], name: str, *, until_ms: int = END_OF_TIME_MS
) -> UsageText:
    """Read all of a text, or raise StoreError that tells of each bad line where, what and the cure.

    *lines* keep their ends. What is read is checked as a ledger would: order of time, amounts that
    are not negative, one for each resource. Moments from *until_ms* on are refused: an entry of the
    far future would be the newest of a record for good.
    """
    bad = BadLines(name)
    read = read_json_lines if form == "jsonl" else read_csv
    head, numbered = read(lines, bad, until_ms)
    ledger = Ledger(head.resources, _SOME_WINDOW)
    entries: list[Entry] = []
    for line, entry in numbered:
        found = _impossible(entry, ledger, until_ms)
        if found:
            bad.add(line, found, "correct this line, or export it again")
        entries.append(entry)
    bad.raise_if_any()
    return UsageText(head=head, entries=entries)


def _impossible(entry: Entry, ledger: Ledger, until_ms: int) -> str:
    """Why the entry cannot be taken after those before it; "" if it can."""
    try:
        check_moment(entry.at_ms, until_ms)
        _check_count(entry, ledger.resources)
    except ValueError as wrong:
        return str(wrong)
    if getattr(entry, "queue", None) == "":
        return "found a queue without a name"
    try:
        ledger.take(entry)
    except UsageError as wrong:
        return str(wrong)
    return ""


def _check_count(entry: Entry, resources: tuple[str, ...]) -> None:
    amounts = next((getattr(entry, each) for each in AMOUNT_FIELDS if hasattr(entry, each)), None)
    if amounts is not None and len(amounts) != len(resources):
        found = "1 amount" if len(amounts) == 1 else f"{len(amounts)} amounts"
        names = ", ".join(resources)
        raise ValueError(f"found {found}, expected {len(resources)}, one for each of {names}")
