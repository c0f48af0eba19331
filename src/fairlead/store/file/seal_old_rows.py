"""The step from the first version of a store to the second: checksums of names and places, too.

The first version had checksums of what rows say and of half of their keys. Names, facts and the
order of rows had none. What can be checked of an old file is checked on the way.

Tables that keep their form get new names. A program of the first version that still has the file
open finds none of them, and can neither write rows without checksums nor read what it would not
understand.
"""

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from zlib import crc32

from fairlead.errors import UsageError
from fairlead.store.file.checkpoints import Checkpoints
from fairlead.store.file.facts import write_facts
from fairlead.store.file.journal import Journal
from fairlead.store.file.names import holders_seal, resources_seal
from fairlead.store.file.row_seal import BEFORE_ALL, DamagedRowError
from fairlead.store.file.sealed_rows import PAGE_ROWS, ActForm, LevelForm, RowForm
from fairlead.store.file.shown import Shown

OldForm: TypeAlias = Callable[[int, bytes], tuple[Any, ...]]

# What was worked out from other tables is made anew: nothing tells whether all of it is there.
_TABLES = """
ALTER TABLE changes RENAME TO sealed_levels;
ALTER TABLE acts RENAME TO sealed_acts;
ALTER TABLE holders RENAME TO sealed_holders;
ALTER TABLE resources RENAME TO sealed_resources;
CREATE TABLE sealed_imports (
    key INTEGER PRIMARY KEY, entry TEXT NOT NULL, checksum INTEGER NOT NULL
);
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


def seal_old_rows(connection: sqlite3.Connection, shown: Shown) -> None:
    """Bring a file of version 1 to version 2. Cost: O(entries); all rows are written anew.

    Raises DamagedRowError for what is not as it was written, or contradicts itself.
    """
    facts = dict(connection.execute("SELECT name, value FROM facts").fetchall())
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    facts |= _names_facts(connection)
    for form, old in ((LevelForm(), _old_levels), (ActForm(), _old_act)):
        for key in shown(_sealed_keys(connection, form, old), "rows sealed"):
            facts[form.newest] = key
    write_facts(connection, facts)
    try:
        Checkpoints(connection, Journal(connection)).save_each_day(shown)
    except UsageError as contradiction:
        raise DamagedRowError(str(contradiction)) from contradiction


def _names_facts(connection: sqlite3.Connection) -> dict[str, int]:
    resources = connection.execute("SELECT name FROM sealed_resources ORDER BY place").fetchall()
    seal = 0
    holders = connection.execute(
        "SELECT id, queue, user FROM sealed_holders ORDER BY id"
    ).fetchall()
    for place, (number, queue, user) in enumerate(holders, start=1):
        if number != place:
            raise DamagedRowError(f"the name of the holder {place} is not there")
        seal = holders_seal(seal, number, (queue, user))
    return {"resources_seal": resources_seal(tuple(n for (n,) in resources)), "names_seal": seal}


def _sealed_keys(connection: sqlite3.Connection, form: RowForm, old: OldForm) -> Iterator[int]:
    """The keys of all rows of a table, in their order; each is sealed when it is told.

    A row that a damaged key put out of order is not found by that key, so it keeps its old seal;
    who reads all rows afterwards is told.
    """
    last = BEFORE_ALL
    names = [name.strip() for name in form.columns.split(",")]
    update = f"UPDATE {form.table} SET {', '.join(f'{name} = ?' for name in names)} WHERE key = ?"
    while True:
        rows = connection.execute(
            f"SELECT key, {form.columns} FROM {form.table} WHERE key > ? ORDER BY key LIMIT ?",
            (last, PAGE_ROWS),
        ).fetchall()
        if not rows:
            return
        sealed = []
        for key, *columns in rows:
            body = form.body(tuple(columns))
            if body is None or old(key, body) != tuple(columns):
                raise DamagedRowError(f"the row at {key} of {form.table} is not as it was written")
            sealed.append((*form.stored(last, key, body), key))
            last = key
        connection.executemany(update, sealed)
        yield from (row[-1] for row in sealed)


def _old_levels(key: int, body: bytes) -> tuple[bytes]:
    return ((crc32(body, key & 0xFFFFFFFF) & 0xFFFF).to_bytes(2) + body,)


def _old_act(key: int, body: bytes) -> tuple[str, int]:
    return body.decode(), crc32(body, key & 0xFFFFFFFF)
