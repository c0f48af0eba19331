"""An entry as a plain mapping, which is what every text form writes and reads."""

from collections.abc import Mapping
from typing import Final, get_args

import msgspec

from fairlead.usage.entries import Entry

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
