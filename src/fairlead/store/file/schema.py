"""Opens the file of a store: makes it, or refuses it and says why."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fairlead.store.file.file_version import migrate, version_of
from fairlead.store.file.migrations import MIGRATIONS, Step
from fairlead.store.file.one_moment import one_moment, told
from fairlead.store.file.store_problem import problem, problem_of

BUSY_TIMEOUT_S = 0.5  # a cycle of scheduling must not wait for a lock; the recorder tries again


def connect(
    path: Path,
    *,
    writes: bool,
    is_unchanging: bool = False,
    migrations: Sequence[Step] = MIGRATIONS,
) -> sqlite3.Connection:
    """A connection to the store at *path*, of the newest version. Raises StoreError.

    With *writes* a file that is missing or empty is made. An old one is refused, whoever asks: to
    upgrade it takes as long as it is large, and this may be called within a scheduling cycle. One
    that *is_unchanging* does not change while it is read; the caller has to see to that.
    """
    if not writes:
        refuse_missing(path)
    connection = opened(path, "rwc" if writes else "ro&immutable=1" if is_unchanging else "ro")
    try:
        with told(path):
            _prepare(connection, path, writes=writes, migrations=migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_missing(path: Path) -> None:
    """Raise StoreError if nothing is at *path*."""
    if not path.exists():
        raise problem(path, "there is no such file", "name one that a scheduler writes")


def opened(path: Path, mode: str) -> sqlite3.Connection:
    """A connection to whatever is at *path*. Raises StoreError if there can be none."""
    if path.is_dir():
        raise problem(path, "it is a folder", "name a file in it")
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,  # transactions begin and end where we say
            check_same_thread=False,  # one at a time may be any; who collects garbage is one, too
        )
    except sqlite3.Error as error:
        raise problem_of(path, error) from error


def write_safely(connection: sqlite3.Connection, path: Path) -> None:
    """Let what is written from now on survive a crash, and what is deleted be gone."""
    _log_ahead(connection, path)
    # What `append` has returned from must survive a loss of power, else more than the last interval
    # is gone. In WAL mode NORMAL never corrupts either, but may lose every commit since the last
    # checkpoint; FULL costs one fsync per append, and there is one append per interval.
    connection.execute("PRAGMA synchronous = FULL")
    # What is deleted is overwritten, else a damaged page could tell an old row that was sound.
    connection.execute("PRAGMA secure_delete = ON")


def _prepare(
    connection: sqlite3.Connection, path: Path, *, writes: bool, migrations: Sequence[Step]
) -> None:
    with one_moment(path, connection, None):
        version = version_of(connection, path, migrations)
    if version == 0 and not writes:
        raise problem(
            path,
            "it is empty, or was never finished",
            "restore a copy, or begin a record there: fairlead usage import",
        )
    if 0 < version < len(migrations):
        raise problem(
            path,
            f"it is of version {version}, and this program needs version {len(migrations)}",
            f"stop programs that write it, and run: fairlead usage upgrade --store {path}",
        )
    if not writes:
        return
    if version == 0:
        # Rolled-up entries leave pages empty; this lets the file become shorter by them.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    write_safely(connection, path)
    if version == 0:
        migrate(connection, path, migrations)


def _log_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Let what is written go into a log first, so that nobody who reads waits for who writes."""
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":  # SQLite says so and goes on, with locks of which we promise otherwise
        raise problem(
            path,
            f"SQLite keeps its journal as {mode!r} there, and not as a log that is written ahead",
            "name a file on a disk of this machine",
        )
