"""Tables of keyed rows in which a changed byte is noticed.

Every table of a store has the same form: a whole number as the key, and a body of bytes that begins
with a CRC-32 of the table's name, the key and the rest of the body. The checksum is compared
whenever a row is read. It finds every error within 32 consecutive bits; of other damage one case in
4 billion passes. Whether rows are missing or out of order is for SQLite to find:
`database.check_structure` asks it once, when a store is opened.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias
from zlib import crc32

TableName: TypeAlias = Literal[
    "levels",  # held amounts, guarantees and capacity, packed by `level_codec`: most of a file
    "acts",  # all other entries, which are rare: grants, resets, renames, removals and gaps
    "imports",  # who imported what, when and why
    "holders",  # the names of queues and their users; levels refer to them by number
    "resources",  # the names of resources; their order is that of amounts
    "checkpoints",  # all levels at some moments; can be rebuilt
    "snapshot",  # one saved ledger; can be rebuilt
    "facts",  # one row about the file as a whole
]
Row: TypeAlias = tuple[int, bytes]  # the key and the body

FIRST_KEY: Final = -(2**63) + 1
LAST_KEY: Final = 2**63 - 1

_CHECKSUM_BYTES: Final = 4
_PAGE_ROWS: Final = 1024  # read at once, so that no cursor stays open between two rows


class DamagedRowError(ValueError):
    """A row that was read is not the row that was written."""


class CheckedRows:
    """Reads and writes one table on a connection; the caller begins and ends transactions."""

    def __init__(self, connection: sqlite3.Connection, table: TableName) -> None:
        """Read nothing yet."""
        self._connection = connection
        self._table = table
        self._table_checksum = crc32(table.encode())
        # Damage may turn the type into TEXT, which Python would try to decode.
        self._select = f"SELECT key, CAST(body AS BLOB) FROM {table}"

    def read(self, after: int = FIRST_KEY - 1, until: int = LAST_KEY) -> Iterator[Row]:
        """Yield the rows with a key above *after* and up to *until*, in the order of keys.

        Raises DamagedRowError.
        """
        while True:
            rows = self._connection.execute(
                f"{self._select} WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
                (after, until, _PAGE_ROWS),
            ).fetchall()
            for key, body in rows:
                if key <= after:  # damage since the store was opened; without end otherwise
                    raise DamagedRowError(f"the rows of table {self._table} are out of order")
                yield key, self._checked(key, body)
                after = key
            if len(rows) < _PAGE_ROWS:
                return

    def last(self, until: int = LAST_KEY) -> Row | None:
        """Return the last row with a key up to *until*. Cost: O(1). Raises DamagedRowError."""
        return self._first_of("WHERE key <= ? ORDER BY key DESC LIMIT 1", until)

    def next(self, after: int = FIRST_KEY - 1) -> Row | None:
        """Return the first row with a key above *after*. Cost: O(1). Raises DamagedRowError."""
        return self._first_of("WHERE key > ? ORDER BY key LIMIT 1", after)

    def last_key(self, until: int = LAST_KEY) -> int | None:
        """Return the last key up to *until*; None if there is none."""
        row = self.last(until)
        return None if row is None else row[0]

    def next_key(self, after: int = FIRST_KEY - 1) -> int | None:
        """Return the first key above *after*; None if there is none."""
        row = self.next(after)
        return None if row is None else row[0]

    def write(self, rows: Iterable[Row]) -> None:
        """Insert *rows*, whose keys are not in the table yet."""
        self._connection.executemany(
            f"INSERT INTO {self._table} VALUES (?, ?)",
            [(key, self._checksum(key, body) + body) for key, body in rows],
        )

    def replace(self, key: int, body: bytes) -> None:
        """Write the row at *key* in place of one that may be there."""
        self.delete(key, key)
        self.write([(key, body)])

    def delete(self, first: int = FIRST_KEY, last: int = LAST_KEY) -> None:
        """Delete the rows with keys from *first* to *last*."""
        self._connection.execute(
            f"DELETE FROM {self._table} WHERE key >= ? AND key <= ?", (first, last)
        )

    def _first_of(self, condition: str, key: int) -> Row | None:
        row = self._connection.execute(f"{self._select} {condition}", (key,)).fetchone()
        return None if row is None else (row[0], self._checked(*row))

    def _checksum(self, key: int, body: bytes) -> bytes:
        checksum = crc32(body, crc32(key.to_bytes(8, signed=True), self._table_checksum))
        return checksum.to_bytes(_CHECKSUM_BYTES)

    def _checked(self, key: int, stored: object) -> bytes:
        if isinstance(stored, bytes):
            body = stored[_CHECKSUM_BYTES:]
            if stored[:_CHECKSUM_BYTES] == self._checksum(key, body):
                return body
        raise DamagedRowError(f"the row at key {key} of table {self._table} has changed")
