"""The step from the first version of a store to the second: checksums of names and places, too.

The first version had checksums of what rows say and of half of their keys. Names, facts and the
order of rows had none. What can be checked of an old file is checked on the way.
"""

import sqlite3
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from zlib import crc32

from fairlead.store.file.facts import write_facts
from fairlead.store.file.names import holders_seal, resources_seal
from fairlead.store.file.row_seal import BEFORE_ALL, DamagedRowError
from fairlead.store.file.sealed_rows import PAGE_ROWS, ActForm, LevelForm, RowForm

# What was worked out from other tables is not taken along: it can be lost.
_TABLES = """
DROP TABLE checkpoints;
CREATE TABLE checkpoints (
    key INTEGER PRIMARY KEY, levels BLOB NOT NULL, checksum INTEGER NOT NULL
);
DROP TABLE snapshot;
CREATE TABLE snapshot (
    one INTEGER PRIMARY KEY CHECK (one = 1), rules TEXT NOT NULL, begin_ms INTEGER NOT NULL,
    position INTEGER NOT NULL, ledger BLOB NOT NULL, checksum INTEGER NOT NULL
);
DROP TABLE facts;
CREATE TABLE facts (
    one INTEGER PRIMARY KEY CHECK (one = 1), facts TEXT NOT NULL, checksum INTEGER NOT NULL
)
"""


def seal_old_rows(connection: sqlite3.Connection) -> None:
    """Bring a file of version 1 to version 2. Cost: O(rows), all of which are written anew."""
    facts = dict(connection.execute("SELECT name, value FROM facts").fetchall())
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    facts |= _names_facts(connection)
    for form, old in ((LevelForm(), _old_levels), (ActForm(), _old_act)):
        newest = _seal_rows(connection, form, old)
        if newest != BEFORE_ALL:
            facts[form.newest] = newest
    write_facts(connection, facts)


def _names_facts(connection: sqlite3.Connection) -> dict[str, int]:
    resources = connection.execute("SELECT name FROM resources ORDER BY place").fetchall()
    seal = 0
    holders = connection.execute("SELECT id, queue, user FROM holders ORDER BY id").fetchall()
    for place, (number, queue, user) in enumerate(holders, start=1):
        if number != place:
            raise DamagedRowError(f"the name of the holder {place} is not there")
        seal = holders_seal(seal, number, (queue, user))
    return {"resources_seal": resources_seal(tuple(n for (n,) in resources)), "names_seal": seal}


def _seal_rows(
    connection: sqlite3.Connection, form: RowForm, old: Callable[[int, bytes], tuple[Any, ...]]
) -> int:
    """Seal all rows of a table; return the last key."""
    last = BEFORE_ALL
    names = [name.strip() for name in form.columns.split(",")]
    update = f"UPDATE {form.table} SET {', '.join(f'{name} = ?' for name in names)} WHERE key = ?"
    while True:
        rows = connection.execute(
            f"SELECT key, {form.columns} FROM {form.table} WHERE key > ? ORDER BY key LIMIT ?",
            (last, PAGE_ROWS),
        ).fetchall()
        if not rows:
            return last
        sealed = []
        for (previous, *_), (key, *columns) in pairwise([(last,), *rows]):
            body = form.body(tuple(columns))
            if body is None or key <= previous or old(key, body) != tuple(columns):
                raise DamagedRowError(f"the row at {key} of {form.table} is not as it was written")
            sealed.append((*form.stored(previous, key, body), key))
        connection.executemany(update, sealed)
        last = rows[-1][0]


def _old_levels(key: int, body: bytes) -> tuple[bytes]:
    return ((crc32(body, key & 0xFFFFFFFF) & 0xFFFF).to_bytes(2) + body,)


def _old_act(key: int, body: bytes) -> tuple[str, int]:
    return body.decode(), crc32(body, key & 0xFFFFFFFF)
