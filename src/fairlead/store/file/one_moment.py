"""Reads as of one moment, and says in our words what SQLite, or a damaged row, is about."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.store.file.row_seal import DamagedRowError
from fairlead.store.file.store_problem import damaged, problem_of
from fairlead.store.file.unchanging_file import UnchangingFile


@contextmanager
def one_moment(
    path: Path, connection: sqlite3.Connection, unchanging: UnchangingFile | None
) -> Iterator[None]:
    """Everything that is read inside is as of one moment, whatever others write meanwhile.

    Who reads first makes the moment. Raises StoreError for whatever fails, and for an *unchanging*
    file that was written to.
    """
    if unchanging is not None:
        unchanging.check()
    with told(path):
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.rollback()
    if unchanging is not None:
        unchanging.check()


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Raise StoreError in place of what SQLite, or who unpacks a row, raises inside."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise problem_of(path, error) from error
    except DamagedRowError as error:
        raise damaged(path, error) from error
