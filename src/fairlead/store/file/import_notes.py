"""Who imported what, when and why. The entries themselves are in the journal, in their own time.

A note is no entry: it says nothing about use, and belongs to this file alone, not to its exports.
"""

import sqlite3
from typing import Final

import msgspec

from fairlead.store.file.journal import LAST_KEY
from fairlead.store.file.journal_key import first_key
from fairlead.store.file.row_seal import BEFORE_ALL, DamagedRowError
from fairlead.store.file.sealed_rows import ImportForm, SealedRows


class ImportNote(msgspec.Struct, frozen=True, kw_only=True):
    """One import: so many entries of a file, and from when to when they tell."""

    at_ms: int
    file: str
    entries: int
    begin_ms: int
    end_ms: int
    who: str
    reason: str


_decode: Final = msgspec.json.Decoder(ImportNote).decode


def write_note(connection: sqlite3.Connection, note: ImportNote) -> None:
    """Write *note* after those that are there, whatever the clock says. Cost: O(1)."""
    rows = SealedRows(connection, ImportForm())
    newest = rows.newest_key()
    key = first_key(note.at_ms)
    if newest is not None:
        key = max(key, newest + 1)
    rows.write([(key, msgspec.json.encode(note))])


def read_notes(connection: sqlite3.Connection) -> list[ImportNote]:
    """All notes in the order in which they were written. Raises DamagedRowError."""
    rows = SealedRows(connection, ImportForm()).read(BEFORE_ALL, LAST_KEY)
    try:
        return [_decode(body) for _, body in rows]
    except msgspec.DecodeError as wrong:
        raise DamagedRowError("a note about an import is not as it was written") from wrong
