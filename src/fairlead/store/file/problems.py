"""What went wrong with the file of a store: which file, what was found, what to do."""

import sqlite3
from pathlib import Path

from fairlead.errors import StoreError

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


def problem(path: Path, found: str, cure: str) -> StoreError:
    """The error that says so about the file at *path*."""
    return StoreError(f"usage store {path}: {found}; {cure}")


def problem_of(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
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
