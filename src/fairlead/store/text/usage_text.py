"""Exported usage as JSON lines, for backups and other programs.

The first line has the names of the resources and the time of the last observation. Each line after
it is an entry, in the order in which a ledger takes them. Amounts are whole base units and times
are milliseconds, so nothing is rounded on the way out or in.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from fairlead.errors import UsageError
from fairlead.model.quantity import most_base_units
from fairlead.store.text.bad_lines import END_OF_TIME_MS, BadLines, check_moment
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding

VERSION: Final = 1
_FIX: Final = "correct this line, or export it again with fairlead usage export"
_SOME_WINDOW: Final = Sliding(1)


class TextHead(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all entries of a text."""

    resources: tuple[str, ...]
    observed_ms: int | None = None  # when a scheduler last looked; None: never, or unknown


class _FirstLine(msgspec.Struct, frozen=True, kw_only=True, tag="usage", omit_defaults=True):
    version: int
    resources: tuple[str, ...]
    observed_ms: int | None = None


class UsageText(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a text: entries with one amount for each of the resources of its head."""

    head: TextHead
    entries: list[Entry]


_decode_first: Final = msgspec.json.Decoder(_FirstLine).decode
_decode_entry: Final = msgspec.json.Decoder[Entry](Entry).decode


def usage_lines(head: TextHead, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a text, each with its end of line.

    Law: `read_usage` returns an equal head and equal entries.
    """
    first = _FirstLine(version=VERSION, resources=head.resources, observed_ms=head.observed_ms)
    yield _line(first)
    for entry in entries:
        yield _line(entry)


def read_usage(lines: Iterable[str], name: str, *, until_ms: int = END_OF_TIME_MS) -> UsageText:
    """Read all of a text, or raise StoreError with the place, mistake and fix of each bad line.

    Entries are checked as a ledger does: order of time, amounts that are not negative, one for each
    resource. Moments from *until_ms* on are refused: an entry of the far future would be the newest
    of a store for good.
    """
    bad = BadLines(name)
    numbered = enumerate(lines, start=1)
    head = TextHead(resources=())
    try:
        head = _head(next(numbered, (1, ""))[1], until_ms)
    except ValueError as mistake:
        bad.add(1, str(mistake), _FIX)
        bad.raise_if_any()  # without resources no amount means anything
    ledger = Ledger(head.resources, _SOME_WINDOW)
    entries: list[Entry] = []
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            entry = _decode_entry(line)
            check_moment(entry.at_ms, until_ms)
            if getattr(entry, "queue", None) == "":
                raise ValueError("found a queue without a name")
            _check_amounts(entry, head.resources)
            ledger.take(entry)
        except (ValueError, UsageError) as mistake:
            bad.add(number, str(mistake), _FIX)
            continue
        entries.append(entry)
    bad.raise_if_any()
    return UsageText(head=head, entries=entries)


def _check_amounts(entry: Entry, resources: tuple[str, ...]) -> None:
    if not isinstance(entry, Held | Capacity | Guarantee):
        return
    for name, amount in zip(resources, entry.amounts, strict=False):
        if amount is not None and amount > (most := most_base_units(name)):
            raise ValueError(
                f"found {amount} of {name}, expected at most {most} base units, which is all that "
                "Kubernetes can count"
            )


def _line(value: object) -> str:
    return msgspec.json.encode(value).decode() + "\n"


def _head(line: str, until_ms: int) -> TextHead:
    first = _decode_first(line)
    if first.version != VERSION:
        raise ValueError(f"found version {first.version}, expected {VERSION}")
    if not first.resources:
        raise ValueError("found no resources, expected at least one")
    for name in first.resources:
        if not name or first.resources.count(name) > 1:
            raise ValueError(f"found the resource {name!r} twice or without a name")
    if first.observed_ms is not None:
        check_moment(first.observed_ms, until_ms)
    return TextHead(resources=first.resources, observed_ms=first.observed_ms)
