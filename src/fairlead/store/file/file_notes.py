"""What a store knows about itself: some numbers, and a note of each import.

Neither is an entry: they say nothing about usage, and are not exported.
"""

import sqlite3
from typing import Final

import msgspec

from fairlead.store.file.checked_rows import CheckedRows, DamagedRowError
from fairlead.store.file.journal import first_key


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers about a store as a whole."""

    rewritten: int = 0  # how often past entries were changed
    observed_ms: int | None = None  # when a scheduler last looked
    rolled_up_until_ms: int | None = None  # everything before is rolled up


class ImportNote(msgspec.Struct, frozen=True, kw_only=True):
    """One import: how many entries of which file, and the time they cover."""

    at_ms: int
    file: str
    entries: int
    begin_ms: int
    end_ms: int
    who: str
    reason: str


_ONE: Final = 1  # the key of the only row of facts
_decode_facts: Final = msgspec.json.Decoder(Facts).decode
_decode_note: Final = msgspec.json.Decoder(ImportNote).decode


class FileNotes:
    """Reads and writes facts and import notes on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read nothing yet."""
        self._facts = CheckedRows(connection, "facts")
        self._imports = CheckedRows(connection, "imports")

    @property
    def facts(self) -> Facts:
        """What is known now. Raises DamagedRowError."""
        row = self._facts.last()
        return Facts() if row is None else _decode_facts(row[1])

    def set_facts(self, facts: Facts) -> None:
        """Write *facts* in place of those before."""
        self._facts.replace(_ONE, msgspec.json.encode(facts))

    def add_import(self, note: ImportNote) -> None:
        """Write *note* after those that are there, whatever its time. Cost: O(1)."""
        newest = self._imports.last_key()
        key = first_key(note.at_ms)
        if newest is not None:
            key = max(key, newest + 1)
        self._imports.write([(key, msgspec.json.encode(note))])

    def imports(self) -> list[ImportNote]:
        """Return all notes in the order in which they were written. Raises DamagedRowError."""
        try:
            return [_decode_note(body) for _, body in self._imports.read()]
        except msgspec.DecodeError as error:
            raise DamagedRowError("the note of an import cannot be read") from error
