"""Opens the SQLite file of a store: creates it, or refuses it with the reason.

SQLite's errors leave this package as StoreError, which names the file and what to do.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, get_args

from fairlead.errors import StoreError
from fairlead.store.file.checked_rows import DamagedRowError, TableName

APPLICATION_ID: Final = 0x464C5553  # "FLUS", in the header of the file
FORMAT: Final = 3  # 1 and 2 were never released
BUSY_TIMEOUT_S = 0.5  # a scheduling cycle must not wait for a lock; the recorder tries again

_TABLES: Final = {
    ("table", name, name, f"CREATE TABLE {name} (key INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    for name in get_args(TableName)
}


_PROBLEMS = {
    sqlite3.SQLITE_READONLY: (
        "the file or its folder is read-only",
        "let this user write to both, or name another file",
    ),
    sqlite3.SQLITE_PERM: (
        "this user may not open it",
        "let this user read and write the file and its folder",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened",
        "make sure that its folder exists and that this user may write there",
    ),
    sqlite3.SQLITE_FULL: (
        "the disk is full",
        "free some space and try again; a scheduler writes then what waits",
    ),
    sqlite3.SQLITE_BUSY: (
        "another program holds it locked",
        "wait for that program, or stop it",
    ),
    sqlite3.SQLITE_LOCKED: (
        "another program holds it locked",
        "wait for that program, or stop it",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "it is damaged",
        "put it aside with its -wal and -shm, and restore a copy, or start with a new file",
    ),
    sqlite3.SQLITE_NOTADB: (
        "it is not a store of usage, nor any other database",
        "name another file; this one was not changed",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk does not read or write as it should",
        "look at the disk; nothing that was written before is lost by trying again",
    ),
}


class ImmutableFile:
    """A closed store in a folder where this user may not write.

    To read a file that may change, SQLite creates two files beside it. Where it cannot, it must be
    told that the file is immutable; `check` verifies that before and after each read.
    """

    def __init__(self, path: Path) -> None:
        """Remember inode, time and size of the file at *path*."""
        self._path = path
        self._stamp = _stamp(path)

    def check(self) -> None:
        """Raise StoreError if the file was opened for writing, or written, since then."""
        if _log_file(self._path).exists() or _stamp(self._path) != self._stamp:
            raise problem(self._path, "it has been written to since it was opened", "open it again")


def immutable_file(path: Path) -> ImmutableFile | None:
    """Return the file at *path* if it can be read as immutable only; else None."""
    target = path.resolve()  # SQLite keeps its files beside the target of a link
    uses_effective = os.access in os.supports_effective_ids
    if _log_file(target).exists() or os.access(
        target.parent, os.W_OK, effective_ids=uses_effective
    ):
        return None
    return ImmutableFile(target) if target.exists() else None


def connect(path: Path, *, writes: bool, is_immutable: bool = False) -> sqlite3.Connection:
    """Return a connection to the store at *path*. Raises StoreError.

    With *writes* a missing or empty file becomes a store. A file of another program or of another
    format is refused and not changed. With *is_immutable* the caller guarantees that the file does
    not change.
    """
    if not writes and not path.exists():
        raise problem(path, "there is no such file", "name one that a scheduler writes")
    connection = _opened(path, "rwc" if writes else "ro&immutable=1" if is_immutable else "ro")
    try:
        with sqlite_errors(path):
            _prepare(connection, path, writes=writes)
    except BaseException:
        connection.close()
        raise
    return connection


def check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError if SQLite finds pages or rows that are missing, or out of order.

    Cost: all pages are read; 0.25 s of CPU for 100 MB.
    """
    [found] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, " ".join(found.split()))


@contextmanager
def read_transaction(
    path: Path, connection: sqlite3.Connection, immutable: ImmutableFile | None = None
) -> Iterator[None]:
    """Read everything inside as of one moment, whatever others write meanwhile.

    The first read sets the moment. Raises StoreError, also if an *immutable* file was written.
    """
    if immutable is not None:
        immutable.check()
    with sqlite_errors(path):
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.rollback()
    if immutable is not None:
        immutable.check()


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Raise StoreError in place of an error of SQLite, or a damaged row."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _problem_of(path, error) from error
    except DamagedRowError as error:
        raise damaged(path, error) from error


def problem(path: Path, found: str, cure: str) -> StoreError:
    """The error that says so about the file at *path*."""
    return StoreError(f"usage store {path}: {found}; {cure}")


def _problem_of(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    """What *error* means for the file at *path*, in words that say what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and not isinstance(error, sqlite3.ProgrammingError):
        return damaged(path, error)  # Python itself found that a text is none
    known = None if code is None else _PROBLEMS.get(code & 0xFF)
    if known is None:
        return problem(path, f"SQLite says: {error}", "see what that means for this file")
    found, cure = known
    return problem(path, f"{found} ({error})", cure)


def damaged(path: Path, what: object) -> StoreError:
    """The error that something in the file is not as it was written."""
    found, cure = _PROBLEMS[sqlite3.SQLITE_CORRUPT]
    return problem(path, f"{found} ({what})", cure)


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    if path.is_dir():
        raise problem(path, "it is a folder", "name a file in it")
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,  # transactions begin and end where we say
            check_same_thread=False,  # used by one thread at a time; garbage collection is another
        )
    except sqlite3.Error as error:
        raise _problem_of(path, error) from error


def _prepare(connection: sqlite3.Connection, path: Path, *, writes: bool) -> None:
    with read_transaction(path, connection):
        is_new = _is_new(connection, path)
    if not writes:
        if is_new:
            raise problem(
                path,
                "it is empty, or was never finished",
                "restore a copy, or start a new store there: fairlead usage import",
            )
        return
    if is_new:
        # A roll-up leaves pages empty; this lets the file shrink by them.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _log_ahead(connection, path)
    # An append that has returned must survive a loss of power. In WAL mode NORMAL may lose all
    # commits since the last checkpoint; FULL costs one fsync per append, one append per interval.
    connection.execute("PRAGMA synchronous = FULL")
    if is_new:
        _create(connection, path)


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file has no tables yet. Raises StoreError for a file that is not ours."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [file_format] = connection.execute("PRAGMA user_version").fetchone()
    tables = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    if not (application or file_format or tables):
        return True
    if application != APPLICATION_ID:
        raise problem(
            path,
            "it is a database of another program",
            "name another file; this one was not changed",
        )
    if file_format != FORMAT:
        raise problem(
            path,
            f"it has format {file_format}, and this program reads format {FORMAT}",
            "use the version of Fairlead that wrote it",
        )
    _check_tables(path, tables)
    return False


def _check_tables(path: Path, tables: set[tuple[str, ...]]) -> None:
    """Raise StoreError for tables that are not as `_create` makes them, and for others.

    SQLite's own tables, such as the statistics of ANALYZE, are fine. A foreign index would cost
    only time, but a trigger changes what is written.
    """
    missing = _TABLES - tables
    if missing:
        raise damaged(path, f"table {min(missing)[1]} is missing or not as it was created")
    others = tables - _TABLES
    foreign = sorted(f"{kind} {name}" for kind, name, *_ in others if name[:7] != "sqlite_")
    if foreign:
        raise problem(
            path,
            f"it contains what Fairlead did not create: {', '.join(foreign)}",
            "move that to another file",
        )


def _create(connection: sqlite3.Connection, path: Path) -> None:
    """Create all tables, unless another program was faster."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(connection, path):
            for *_, statement in sorted(_TABLES):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _log_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Use a write-ahead log, so that readers do not wait for the writer."""
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":  # SQLite goes on without an error, but readers would wait
        raise problem(
            path,
            f"SQLite can only use the journal mode {mode!r} there, not a write-ahead log",
            "name a file on a local disk",
        )


class _Stamp(NamedTuple):
    inode: int
    changed_ns: int
    size: int


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stamp(found.st_ino, found.st_mtime_ns, found.st_size)


def _log_file(path: Path) -> Path:
    """Return the write-ahead log, which exists while a program has the file open for writing."""
    return path.with_name(f"{path.name}-wal")
