"""Files that are there as a whole or not at all, whatever fails while they are written."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import Final

from fairlead.errors import FairleadError

STREAMS: Final = ("/dev/stdout", "/dev/stderr")
OPEN_FILES: Final = ("/dev/fd/", "/proc/")


def write_inside(file: Path, parts: Iterable[bytes]) -> None:
    """Put *parts* into a *file* of our own naming, as `write_whole` does, in a folder of the user.

    A link there leads to what the user did not name, so it is refused; one that comes meanwhile is
    replaced. Another name of the same file keeps its content.
    """
    if file.is_symlink():
        raise FairleadError(f"{file} is a link: remove it, or write elsewhere")
    try:
        _replace(file, parts)
    except OSError as wrong:
        raise FairleadError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong


def write_whole(file: Path, parts: Iterable[bytes]) -> None:
    """Put *parts* into *file*, or leave what was there before.

    They are written beside it, brought to the disk, and renamed at the end; who may read the file
    stays the same. What is no file, such as a pipe, or is open already, such as standard output,
    is written to as it is. So is a file in a folder where this user may make no other: that one is
    not whole if something fails. Raises FairleadError that says why it cannot be written, and
    BrokenPipeError where the reader has closed the pipe.
    """
    try:
        if is_stream(file):
            # Truncated, what a shell was told to append to would be lost.
            with file.open("ab") as there:
                there.writelines(parts)
            return
        place = Path(os.path.realpath(file))  # of a link, the file stays where it is
        try:
            _replace(place, parts)
        except _NoNewFileError:
            with place.open("wb") as there:
                there.writelines(parts)
    except BrokenPipeError:
        raise  # the reader has enough: that is no fault of the file
    except OSError as wrong:
        raise FairleadError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong


class _NoNewFileError(PermissionError):
    """This user may make no file in that folder."""


def _replace(place: Path, parts: Iterable[bytes]) -> None:
    """Write a new file beside *place*, and give it that name at the end."""
    beside = place.with_name(f".{token_hex(8)}.part")
    try:
        coming = beside.open("xb")
    except PermissionError as wrong:
        raise _NoNewFileError(*wrong.args) from wrong
    try:
        with coming:
            _let_the_same_read(coming.fileno(), place)
            coming.writelines(parts)
            coming.flush()
            os.fsync(coming.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def is_stream(file: Path) -> bool:
    """Whether there is nothing to put in the place of *file*, which others have open."""
    name = str(file.absolute())
    if name in STREAMS or name.startswith(OPEN_FILES):
        return True
    return file.exists() and not file.is_file()


def _let_the_same_read(descriptor: int, place: Path) -> None:
    """Give what is empty so far the owner, as far as that may be, and the mode of *place*."""
    try:
        before = place.stat()
    except FileNotFoundError:
        return
    with suppress(PermissionError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, S_IMODE(before.st_mode))
