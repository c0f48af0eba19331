"""The record that an import adds to. A new one gets its name only when all of it is written.

An import that fails, as on a full disk, so leaves nothing behind that looks like a record.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fairlead.cli.usage_record import Record, opened
from fairlead.errors import StoreError
from fairlead.store.file.usage_store import UsageStore


@contextmanager
def added_to(record: Record) -> Iterator[UsageStore]:
    """Open the record for writing, or make one that is there only if nothing is raised inside.

    Raises StoreError for whatever fails, and where another program makes the same file meanwhile.
    """
    if record.path.exists():
        with opened(record, writes=True) as store:
            yield store
        return
    path = Path(os.path.realpath(record.path))  # a link may lead to where nothing is yet
    with _folder_beside(path) as folder:
        new = Path(folder) / path.name
        try:
            with opened(
                msgspec.structs.replace(record, path=new), writes=True, makes=True
            ) as store:
                yield store
            _give_name(new, path)
        except StoreError as wrong:
            raise StoreError(str(wrong).replace(str(new), str(record.path))) from wrong


def _folder_beside(path: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix=".fairlead-import-", dir=path.parent)
    except OSError as wrong:
        raise _not_made(path, wrong) from wrong


def _give_name(new: Path, path: Path) -> None:
    if new.with_name(f"{new.name}-wal").exists():
        raise StoreError(
            f"usage store {new}: it could not be finished; free some space on its disk and try "
            "again"
        )
    if path.exists():
        raise StoreError(
            f"usage store {new}: another program made it meanwhile, so nothing was imported; "
            "import it again"
        )
    try:
        new.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else the name may be gone after a loss of power
        finally:
            os.close(folder)
    except OSError as wrong:
        raise _not_made(path, wrong) from wrong


def _not_made(path: Path, wrong: OSError) -> StoreError:
    return StoreError(
        f"usage store {path}: it cannot be made ({wrong.strerror or wrong}); make sure that its "
        "folder exists and that this user may write there"
    )
