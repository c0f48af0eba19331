"""Files in which a record of use was never begun, as a full disk or a slip of a shell leaves them.

To begin one there would hide that the true record is gone, so only an import does that.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from fairlead.errors import StoreError
from fairlead.store.file.schema import BUSY_TIMEOUT_S


def refuse_stub(path: Path) -> None:
    """Raise StoreError for a file without anything in it; all else is for who opens it to judge."""
    if _has_no_table(path):
        raise StoreError(
            f"usage store {path}: it is empty or was never finished; restore a copy or start one "
            "with fairlead usage import"
        )


def _has_no_table(path: Path) -> bool:
    """Whether SQLite finds that no table was ever made; a file that it cannot read is no stub."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
            [changes] = connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        return False
    return bool(changes == 0)
