"""Writing and removing inside a result folder: no link in it is followed, no file changed in place.

A link in the folder, or one that is swapped in meanwhile, could lead to data of others. So folders
of ours are opened one by one from the folder that the user named, which may be a link itself, and
files are opened, renamed and removed relative to them. A file is always a new one: another name of
what was there before (a hard link) keeps its content.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from fairlead.errors import ResultError

OF_RUN: Final = 2
"""How many folders above a file of a run that is being written are ours: not those above them."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW  # and so the mode says what it is for


def a_link(path: Path) -> ResultError:
    """Say that there is a link where a result is to be written."""
    return ResultError(
        f"{path} is a link, and nothing is written or removed through one: remove it, or name "
        "another folder"
    )


@contextmanager
def own_folder(path: Path, own: int) -> Iterator[int]:
    """Open *path*, of which the last *own* folders are ours; raises `ResultError` for a link."""
    path = path.absolute()
    reached = path.parents[own - 1] if own else path
    folder = os.open(reached, _FOLDER)
    try:
        for name in path.parts[len(path.parts) - own :]:
            reached = reached / name
            below = open_below(folder, reached)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def open_below(folder: int, path: Path) -> int:
    """Open the folder at *path*, which is just below the open *folder*; `ResultError`: a link."""
    try:
        return os.open(path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as wrong:
        if wrong.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink():
            raise a_link(path) from None
        raise


def new_file(path: Path, own: int, mode: str = "w", **form: Any) -> IO[Any]:
    """Open a new file at *path* in place of what was there; *own* folders above it are ours."""
    with own_folder(path.parent, own) as folder:

        def opener(_path: str, flags: int) -> int:
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
            return os.open(path.name, flags | _NEW, 0o666, dir_fd=folder)

        return open(path, mode, opener=opener, **form)


def put_in_place(path: Path, data: bytes, own: int) -> None:
    """Write a file as a whole; until that is done, what was there before stays."""
    beside = path.with_name(f"{path.name}.part")
    with new_file(beside, own, "wb") as stream:
        stream.write(data)
    with own_folder(path.parent, own) as folder:
        os.replace(beside.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def remove_all(folder: int) -> None:
    """Remove all that is in the open *folder*; of links, only the links."""
    with os.scandir(folder) as found:
        entries = list(found)
    for each in entries:
        if each.is_dir(follow_symlinks=False):
            shutil.rmtree(each.name, dir_fd=folder)
        else:
            os.unlink(each.name, dir_fd=folder)
