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


def entry_of(plain: Mapping[str, object]) -> Entry:
    """Return the entry that *plain* describes; raise ValueError that says what is wrong with it."""
    kind = plain.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"found the type {kind!r}, expected one of {', '.join(FIELDS)}")
    unknown = [field for field in plain if field != "type" and field not in FIELDS[kind]]
    if unknown:
        raise ValueError(f"found {unknown[0]!r}, expected only {', '.join(FIELDS[kind])}")
    entry: Entry = msgspec.convert(plain, Entry)  # its ValidationError is a ValueError
    return entry
