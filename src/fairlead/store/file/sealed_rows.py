"""A table of rows in the order of their keys, of which none can be lost or changed unnoticed.

Each row is sealed with the key of the one before it, and the facts of the store say which is the
last. Who reads a range follows the seals from the row before it to the row behind it, so what a
damaged page hides or tells twice is noticed as well as a changed bit. What is written at the end
costs nothing more for that; what is put between two rows seals the second one anew.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, Protocol, TypeAlias

from fairlead.store.file.facts import FactName, fact, set_fact
from fairlead.store.file.row_seal import (
    BEFORE_ALL,
    SHORT_BYTES,
    DamagedRowError,
    long_seal,
    short_seal,
)

PAGE_ROWS: Final = 1024  # so many are read at once; no cursor outlives who stops reading

Row: TypeAlias = tuple[int, bytes]  # its key, and what it says
_key_of = itemgetter(0)


class RowForm(Protocol):
    """How the rows of one table are stored."""

    table: str
    columns: str
    newest: FactName

    def stored(self, previous: int, key: int, body: bytes) -> tuple[Any, ...]:
        """The columns of a row, but for its key."""

    def body(self, columns: tuple[Any, ...]) -> bytes | None:
        """What the columns say, not yet checked; None if they are no such columns."""


class LevelForm:
    """Levels, as `entry_rows` packs them, after their seal."""

    table = "sealed_levels"
    columns = "levels"
    newest: FactName = "newest_change"

    def stored(self, previous: int, key: int, body: bytes) -> tuple[bytes]:
        """One column."""
        return (short_seal(previous, key, body) + body,)

    def body(self, columns: tuple[Any, ...]) -> bytes | None:
        """What comes after the seal."""
        [levels] = columns
        return levels[SHORT_BYTES:] if isinstance(levels, bytes) else None


class ActForm:
    """Acts, as a text that people can read, and a column with its seal."""

    table = "sealed_acts"
    columns = "entry, checksum"
    newest: FactName = "newest_act"

    def stored(self, previous: int, key: int, body: bytes) -> tuple[str, int]:
        """The text and its seal."""
        return body.decode(), long_seal(previous, key, body)

    def body(self, columns: tuple[Any, ...]) -> bytes | None:
        """The text."""
        return columns[0].encode() if isinstance(columns[0], str) else None


class ImportForm(ActForm):
    """Notes about imports, in the form of acts."""

    table = "sealed_imports"
    newest: FactName = "newest_import"


class SealedRows:
    """Reads and writes one table on a connection; who calls begins and ends transactions."""

    def __init__(self, connection: sqlite3.Connection, form: RowForm) -> None:
        """Read nothing yet."""
        self._connection = connection
        self._form = form
        self._select = f"SELECT key, {form.columns} FROM {form.table}"

    def newest_key(self) -> int | None:
        """The key of the last row; None if there is none. Cost: O(1)."""
        return fact(self._connection, self._form.newest)

    def read(self, after: int, until: int) -> Iterator[Row]:
        """Rows with a key above *after* and up to *until*.

        Raises DamagedRowError unless they are all, and as they were written; that one is missing
        at the end is known only after the last.
        """
        last = self._last_key(after)
        while True:
            rows = self._connection.execute(
                f"{self._select} WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
                (last, until, PAGE_ROWS),
            ).fetchall()
            for key, *columns in rows:
                yield self._checked(last, key, tuple(columns), after)
                last = key
            if len(rows) < PAGE_ROWS:
                break
        self._row_after(last, until)

    def keys_around(self, key: int) -> tuple[int | None, int | None]:
        """The key of the last row up to *key*, and of the next; None: there is none. Cost: O(1)."""
        rows = self._connection.execute(
            f"{self._select} WHERE key <= ? ORDER BY key DESC LIMIT 2", (key,)
        ).fetchall()
        last = BEFORE_ALL
        if rows:
            last, *columns = rows[0]
            self._checked(rows[1][0] if rows[1:] else BEFORE_ALL, last, tuple(columns))
            self._check_order(last, key)
        following = self._row_after(last, key)
        return last if rows else None, None if following is None else following[0]

    def write(self, rows: Sequence[Row]) -> None:
        """Put *rows* in their places. Cost: O(rows); what is read besides, one row for each run."""
        rows = sorted(rows, key=_key_of)
        begin = 0
        while begin < len(rows):
            previous, following = self._place(rows[begin][0])
            end = len(rows)
            if following is not None:
                end = bisect_left(rows, following[0], lo=begin, key=_key_of)
            self._insert(previous, rows[begin:end])
            self._follow(rows[end - 1][0], following)
            begin = end

    def delete(self, first: int, last: int) -> None:
        """Take out the rows from the key *first* to *last*."""
        previous = self._last_key(first - 1)
        following = self._row_after(self._last_key(last), last)
        self._connection.execute(
            f"DELETE FROM {self._form.table} WHERE key >= ? AND key <= ?", (first, last)
        )
        self._follow(previous, following)

    def _place(self, key: int) -> tuple[int, Row | None]:
        """The key before *key*, and the row after it."""
        newest = self.newest_key()
        if newest is None or newest < key:
            return BEFORE_ALL if newest is None else newest, None
        previous = self._last_key(key)
        return previous, self._row_after(previous, key)

    def _insert(self, previous: int, rows: Sequence[Row]) -> None:
        stored = []
        for key, body in rows:
            stored.append((key, *self._form.stored(previous, key, body)))
            previous = key
        places = ", ".join("?" * len(stored[0]))
        self._connection.executemany(f"INSERT INTO {self._form.table} VALUES ({places})", stored)

    def _follow(self, previous: int, following: Row | None) -> None:
        """Let *following* come after *previous*; without it, *previous* is the last."""
        if following is None:
            newest = None if previous == BEFORE_ALL else previous
            set_fact(self._connection, self._form.newest, newest)
        else:
            self._connection.execute(
                f"DELETE FROM {self._form.table} WHERE key = ?", (following[0],)
            )
            self._insert(previous, [following])

    def _last_key(self, until: int) -> int:
        """The last key up to *until*; that nothing is between it and the next, that one tells."""
        [last] = self._connection.execute(
            f"SELECT max(key) FROM {self._form.table} WHERE key <= ?", (until,)
        ).fetchone()
        if last is None:
            return BEFORE_ALL
        self._check_order(last, until)
        return int(last)

    def _row_after(self, last: int, beyond: int) -> Row | None:
        """The row that follows *last*, with a key above *beyond*; None if *last* is the newest."""
        row = self._connection.execute(
            f"{self._select} WHERE key > ? ORDER BY key LIMIT 1", (last,)
        ).fetchone()
        if row is not None:
            key, *columns = row
            return self._checked(last, key, tuple(columns), beyond)
        newest = self.newest_key()
        if last != (BEFORE_ALL if newest is None else newest):
            raise DamagedRowError(f"the last row of {self._form.table} is not there")
        return None

    def _checked(
        self, previous: int, key: int, columns: tuple[Any, ...], beyond: int = BEFORE_ALL
    ) -> Row:
        """The row; raises DamagedRowError unless it was written at *key*, after *previous*.

        SQLite goes down to where a range must begin, and does not look whether what is there is in
        the range. After a wrong turn it may not be, so that its key is above *beyond* is checked.
        """
        body = self._form.body(columns)
        if body is None or self._form.stored(previous, key, body) != columns:
            raise DamagedRowError(
                f"the row at {key} of {self._form.table}, or the one before it, "
                "is not as it was written"
            )
        self._check_order(beyond, key - 1)
        return key, body

    def _check_order(self, key: int, until: int) -> None:
        if key > until:
            raise DamagedRowError(f"the rows of {self._form.table} are not in their order")
