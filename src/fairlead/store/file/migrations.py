"""The tables of a store, version by version.

A file says its version. The steps that it lacks are done in one transaction when it is opened for
writing, the first of them for a file that is new; so every store, however old, has come the same
way. A step that was released is never changed, only followed.

* ``changes``: levels, as `entry_rows` packs them. Nearly all of a file.
* ``acts``: the rare entries (grants, forgiving, names, gaps), as JSON that people can read.
* ``holders``, ``resources``: names, each written once.
* ``checkpoints``: all levels at a moment, so that reading can begin there. They can be lost.
* ``snapshot``: a ledger, so that a start is quick. It can be lost.
* ``facts``: whole numbers about the file itself, by name.
"""

from collections.abc import Sequence
from typing import Final

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

MIGRATIONS: Final[Sequence[str]] = (_FIRST,)
