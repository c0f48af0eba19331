"""Opens the file of a store: makes it, brings it up to date, or refuses it and says why."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fairlead.store.file.migrations import (
    APPLICATION_ID,
    MIGRATIONS,
    Step,
    tables_after,
    tables_of,
    take_steps,
)
from fairlead.store.file.one_moment import one_moment, told
from fairlead.store.file.store_problem import damaged, problem, problem_of

BUSY_TIMEOUT_S = 0.5  # a cycle of scheduling must not wait for a lock; the recorder tries again


def connect(
    path: Path,
    *,
    writes: bool,
    is_unchanging: bool = False,
    migrations: Sequence[Step] = MIGRATIONS,
) -> sqlite3.Connection:
    """A connection to the store at *path*, of the newest version. Raises StoreError.

    With *writes* a file that is missing or empty is made, and an old one is brought up to date. One
    that *is_unchanging* does not change while it is read; the caller has to see to that.
    """
    if path.is_dir():
        raise problem(path, "it is a folder", "name a file in it")
    if not writes and not path.exists():
        raise problem(path, "there is no such file", "name one that a scheduler writes")
    try:
        connection = _opened(path, "rwc" if writes else "ro&immutable=1" if is_unchanging else "ro")
    except sqlite3.Error as error:
        raise problem_of(path, error) from error
    try:
        with told(path):
            _prepare(connection, path, writes=writes, migrations=migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # transactions begin and end where we say
        check_same_thread=False,  # one at a time may be any; who collects garbage is one, too
    )


def _prepare(
    connection: sqlite3.Connection, path: Path, *, writes: bool, migrations: Sequence[Step]
) -> None:
    with one_moment(path, connection, None):
        version = _version(connection, path, migrations)
    if not writes:
        if version < len(migrations):
            raise problem(
                path,
                f"it is of version {version}, and this program reads {len(migrations)}",
                "open it once for writing, which brings it up to date",
            )
        return
    if version == 0:
        # Rolled-up entries leave pages empty; this lets the file become shorter by them.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _log_ahead(connection, path)
    # What `append` has returned from must survive a loss of power, else more than the last interval
    # is gone. In WAL mode NORMAL never corrupts either, but may lose every commit since the last
    # checkpoint; FULL costs one fsync per append, and there is one append per interval.
    connection.execute("PRAGMA synchronous = FULL")
    # What is deleted is overwritten, else a damaged page could tell an old row that was sound.
    connection.execute("PRAGMA secure_delete = ON")
    if version < len(migrations):
        _migrate(connection, path, migrations)


def _log_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Let what is written go into a log first, so that nobody who reads waits for who writes."""
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":  # SQLite says so and goes on, with locks of which we promise otherwise
        raise problem(
            path,
            f"SQLite keeps its journal as {mode!r} there, and not as a log that is written ahead",
            "name a file on a disk of this machine",
        )


def _version(connection: sqlite3.Connection, path: Path, migrations: Sequence[Step]) -> int:
    """The version of the file, 0 for one that is new.

    Refuses what is not ours, or from later, or has other tables than its version has.
    """
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    tables = tables_of(connection)
    if application != APPLICATION_ID and (application or version or tables):
        raise problem(
            path,
            "it is a database of another program",
            "name another file; this one was not changed",
        )
    assert isinstance(version, int)
    if version > len(migrations):
        raise problem(
            path,
            f"it is of version {version}, and this program knows versions up to {len(migrations)}",
            "use the newer Fairlead that wrote it",
        )
    if version < 0 or tables != tables_after(tuple(migrations[:version])):
        raise damaged(path, "what describes its tables is not as it was written")
    return version


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Step]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another program may have been quicker while this one waited for the lock.
        version = _version(connection, path, migrations)
        take_steps(connection, migrations[version:])
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
