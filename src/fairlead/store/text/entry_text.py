"""What all forms of exported usage share: the head, entries as plain fields, and mistakes."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, get_args

import msgspec

from fairlead.errors import StoreError
from fairlead.usage.entries import Entry


def csv_line(cells: Iterable[object]) -> str:
    """Return *cells* as one row, with its end of line.

    Law: the standard library's reader gives the same cells as texts, whatever they hold.
    """
    text = io.StringIO(newline="")
    # Only with this end of line does Python 3.11 quote a carriage return in a name.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


MOST_DIGITS: Final = 40
"""All bytes that Kubernetes can count, for 292 years in milliseconds, are 32 digits."""


def whole_number(text: str) -> int:
    """Return the number; raise ValueError for anything but digits with a sign, and for too many.

    What else int() takes is a slip in a table, and no amount is as long as what it refuses.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"found {text!r}, expected a whole number")
    if len(digits) > MOST_DIGITS:
        raise ValueError(
            f"found a number of {len(digits):,} digits, expected at most {MOST_DIGITS}"
        )
    return int(text)


MOST_SHOWN = 10
"""More bad lines than that are only counted: they mostly have one cause."""
MOST_CHARACTERS = 300
"""Of what is wrong in a line no more is shown: a line may have no end."""


class BadLines:
    """Collects the lines of one file that cannot be read."""

    def __init__(self, name: str) -> None:
        """Begin with nothing wrong; *name* is how the file is called in the messages."""
        self.count = 0
        self._name = name
        self._shown: list[str] = []

    def add(self, line: int, found: str, cure: str) -> None:
        """Note what is wrong in *line*, counted from 1, and what mends it."""
        self.count += 1
        if len(found) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2  # the end says what was expected
            found = f"{found[:half]}...{found[-half:]}"
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(f"{self._name}:{line}: {found}\n    fix: {cure}")

    def raise_if_any(self) -> None:
        """Raise StoreError with every line that was noted; nothing was imported."""
        if not self.count:
            return
        more = self.count - len(self._shown)
        end = [f"and {more} more that {'is' if more == 1 else 'are'} not shown"] if more else []
        lines = "1 line" if self.count == 1 else f"{self.count} lines"
        head = f"nothing was imported: {lines} of {self._name} cannot be read"
        raise StoreError("\n".join([head, *self._shown, *end]))


END_OF_TIME_MS = 7_289_654_400_000  # the first moment of the year 2201, as for --now

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TextHead(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all entries of a text."""

    resources: tuple[str, ...]
    observed_ms: int | None = None  # when a scheduler last looked; None: never, or not told


def check_head(head: TextHead, until_ms: int) -> None:
    """Raise ValueError unless resources are named once and the last look is before *until_ms*."""
    if not head.resources:
        raise ValueError("found no resources, expected at least one")
    for name in head.resources:
        if not name or head.resources.count(name) > 1:
            raise ValueError(f"found the resource {name!r} twice or without a name")
    if head.observed_ms is not None:
        check_moment(head.observed_ms, until_ms)


def check_moment(at_ms: int, until_ms: int) -> None:
    """Raise ValueError for a time that must be a slip: no time at all, or from *until_ms* on."""
    if not 0 <= at_ms < END_OF_TIME_MS:
        raise ValueError(f"found the time {at_ms}, expected milliseconds in the years 1970 to 2200")
    if at_ms >= until_ms:
        raise ValueError(
            f"found the time {at_ms}, which is {_words(at_ms)} and more than a day from now; "
            "where the clock is wrong, say with --now what time it is"
        )


def _words(at_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%dT%H:%M:%SZ")


FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    kind.__struct_config__.tag: kind.__struct_fields__ for kind in get_args(Entry)
}
"""The fields of each type of entry, such as ``held``."""

AMOUNT_FIELDS: Final = ("amounts", "resource_time")

_NUMBERS: Final = ("at_ms", "since_ms")
_MAY_BE_MISSING: Final = ("user",)
_WORDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def entry_of(plain: Mapping[str, object]) -> Entry:
    """Return the entry that *plain* describes; raise ValueError that says what is wrong with it."""
    kind = plain.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"found the type {kind!r}, expected one of {', '.join(FIELDS)}")
    unknown = [field for field in plain if field != "type" and field not in FIELDS[kind]]
    if unknown:
        raise ValueError(f"found {unknown[0]!r}, expected only {', '.join(FIELDS[kind])}")
    missing = [
        field for field in FIELDS[kind] if field not in plain and field not in _MAY_BE_MISSING
    ]
    if missing:
        raise ValueError(f"found no {missing[0]}, which an entry of type {kind} needs")
    for field, value in plain.items():
        _check_value(kind, field, value)
    entry: Entry = msgspec.convert(plain, Entry)
    return entry


def _check_value(kind: str, field: str, value: object) -> None:
    """Raise ValueError, in words of ours, for a value that has no place in its field."""
    if field in AMOUNT_FIELDS:
        _check_amounts(kind, field, value)
    elif field in _NUMBERS:
        if type(value) is not int:
            raise ValueError(f"found {_word(value)} as {field}, expected a whole number")
    elif not isinstance(value, str) and (kind, field, value) != ("forgiven", "queue", None):
        raise ValueError(f"found {_word(value)} as {field}, expected a text")


def _check_amounts(kind: str, field: str, value: object) -> None:
    may_be_all = kind == "guarantee"
    expected = "a list of whole numbers" + (" and null, which is everything" if may_be_all else "")
    if not isinstance(value, list):
        raise ValueError(f"found {_word(value)} as {field}, expected {expected}")
    for amount in value:
        if type(amount) is not int and not (may_be_all and amount is None):
            raise ValueError(f"found {_word(amount)} in {field}, expected {expected}")


def _word(value: object) -> str:
    return _WORDS[type(value)]
