"""The tables of a store, version by version.

A file says its version. The steps that it lacks are done in one transaction: all of them for a new
file, the later ones when an old one is upgraded (`upgrade`); so every store, however old, has come
the same way. A step that was released is never changed, only followed. One after which rows
mean something else gives their tables new names, so that a program that knows the old ones fails.

* ``sealed_levels``: levels, as `entry_rows` packs them, sealed (`sealed_rows`): most of a file.
* ``sealed_acts``: the rare entries (grants, forgiving, names, gaps), as JSON for people, sealed.
* ``sealed_imports``: who imported what, when and why, sealed in the same way.
* ``sealed_holders``, ``sealed_resources``: names, each written once; their checksum is a fact.
* ``checkpoints``: all levels at a moment, so that reading can begin there. They can be lost.
* ``snapshot``: a ledger, so that a start is quick. It can be lost.
* ``facts``: whole numbers about the file itself, by name, in one row.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Final, TypeAlias

from fairlead.store.file.seal_old_rows import seal_old_rows
from fairlead.store.file.shown import Shown, unshown

Step: TypeAlias = str | Callable[[sqlite3.Connection, Shown], None]
Tables: TypeAlias = frozenset[tuple[object, ...]]

APPLICATION_ID: Final = 0x464C5553  # "FLUS", in the header of the file

_FIRST = """
CREATE TABLE changes (key INTEGER PRIMARY KEY, levels BLOB NOT NULL);
CREATE TABLE acts (key INTEGER PRIMARY KEY, entry TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE holders (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (queue, user)
);
CREATE TABLE resources (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE checkpoints (key INTEGER, part INTEGER, levels BLOB NOT NULL, PRIMARY KEY (key, part));
CREATE TABLE snapshot (
    one INTEGER PRIMARY KEY CHECK (one = 1), rules TEXT NOT NULL, begin_ms INTEGER NOT NULL,
    position INTEGER NOT NULL, ledger BLOB NOT NULL
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

MIGRATIONS: Final[Sequence[Step]] = (_FIRST, seal_old_rows)


def take_steps(
    connection: sqlite3.Connection, steps: Sequence[Step], shown: Shown = unshown
) -> None:
    """Do *steps*, within a transaction of the caller."""
    for step in steps:
        if callable(step):
            step(connection, shown)
            continue
        # One by one, because `executescript` would end the transaction that they belong to.
        for statement in filter(None, map(str.strip, step.split(";"))):
            connection.execute(statement)


def tables_of(connection: sqlite3.Connection) -> Tables:
    """What a file says about its tables: their names, and the text that made each."""
    return frozenset(
        connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    )


@lru_cache
def tables_after(steps: tuple[Step, ...]) -> Tables:
    """What a file says about its tables after *steps* and nothing else. Cost: O(1) but once."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        take_steps(connection, steps)
        return tables_of(connection)
