"""Reading a store that nobody writes, in a folder where this user may not write either.

To read a file that others may write, SQLite keeps two files beside it, and refuses if it cannot
make them. It can be told that the file does not change, and then looks at nothing else. Whether
that is true is for us to find out: before and after everything that is read.
"""

import os
from pathlib import Path
from typing import NamedTuple

from fairlead.store.file.store_problem import problem


class _Stamp(NamedTuple):
    """What would not all be the same if something had been written."""

    inode: int
    changed_ns: int
    size: int


class UnchangingFile:
    """A file as it was when it was found that nobody writes."""

    def __init__(self, path: Path) -> None:
        """Remember what the file at *path* is like now."""
        self._path = path
        self._stamp = _stamp(path)

    def check(self) -> None:
        """Raise StoreError if somebody began to write, or has written, since then."""
        if _log(self._path).exists() or _stamp(self._path) != self._stamp:
            raise problem(self._path, "it has been written to since it was opened", "open it again")


def unchanging_file(path: Path) -> UnchangingFile | None:
    """The file at *path* if it can only be read as one that does not change; None for others."""
    target = path.resolve()  # SQLite keeps its files beside what a link leads to
    uses_effective = os.access in os.supports_effective_ids
    if _log(target).exists() or os.access(target.parent, os.W_OK, effective_ids=uses_effective):
        return None
    return UnchangingFile(target) if target.exists() else None


def _log(path: Path) -> Path:
    """The file that is there while a program may write, and holds what it wrote last."""
    return path.with_name(f"{path.name}-wal")


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stamp(found.st_ino, found.st_mtime_ns, found.st_size)
