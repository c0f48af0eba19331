"""Of which version a file is: found out, kept an eye on, and changed by steps."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fairlead.store.file.migrations import (
    APPLICATION_ID,
    MIGRATIONS,
    Step,
    Tables,
    tables_after,
    tables_of,
    take_steps,
)
from fairlead.store.file.shown import Shown, unshown
from fairlead.store.file.store_problem import damaged, problem


def version_of(connection: sqlite3.Connection, path: Path, migrations: Sequence[Step]) -> int:
    """The version of the file, 0 for one that is new.

    Raises StoreError for what is not ours, or from later, or has other tables than its version has.
    """
    [application] = connection.execute("PRAGMA application_id").fetchone()
    version = _number(connection)
    tables = tables_of(connection)
    if application != APPLICATION_ID and (application or version or tables):
        raise problem(
            path,
            "it is a database of another program",
            "name another file; this one was not changed",
        )
    if version > len(migrations):
        raise problem(
            path,
            f"it is of version {version}, and this program knows versions up to {len(migrations)}",
            "use the newer Fairlead that wrote it",
        )
    ours = tables_after(tuple(migrations[: max(version, 0)]))
    if version < 0 or not ours <= tables:
        raise damaged(path, "what describes its tables is not as it was written")
    _refuse_others(path, tables - ours)
    return version


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError if the file has another version than this program opened. Cost: O(1).

    To be asked within every transaction: what this program would read or write has changed then.
    """
    version = _number(connection)
    if version != len(MIGRATIONS):
        raise problem(
            path,
            f"it was upgraded by a newer program, to version {version}, since it was opened",
            "start this program again, in its newer version",
        )


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    migrations: Sequence[Step],
    shown: Shown = unshown,
) -> int:
    """Bring the file to the newest version in one transaction; return the version that it had."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another program may have been quicker while this one waited for the lock.
        version = version_of(connection, path, migrations)
        take_steps(connection, migrations[version:], shown)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return version


def _number(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_others(path: Path, others: Tables) -> None:
    """Raise StoreError for tables and the like that neither we nor SQLite made.

    What SQLite makes for itself, such as the statistics of ANALYZE, only it can name so. Of the
    rest an index would cost no more than time, but a trigger changes what is written.
    """
    names = sorted(
        f"{kind} {name}" for kind, name, *_ in others if not str(name).startswith("sqlite_")
    )
    if names:
        raise problem(
            path,
            f"it has something in it that Fairlead did not make: {', '.join(names)}",
            "put that into a file of its own, and take it out of this one",
        )
