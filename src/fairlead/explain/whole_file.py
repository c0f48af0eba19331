"""Files that are there as a whole or not at all, whatever fails while they are written."""

from collections.abc import Iterable
from pathlib import Path

from fairlead.errors import FairleadError


def write_whole(file: Path, parts: Iterable[bytes]) -> None:
    """Put *parts* into *file*, or leave what was there before.

    They are written beside it, and renamed at the end. What is no file, such as a pipe, is written
    to as it is. Raises FairleadError that says why it cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            with file.open("wb") as there:
                there.writelines(parts)
            return
        place = file.resolve()  # of a link, the file stays where it is
        beside = place.with_name(f"{place.name}.part")
        try:
            with beside.open("wb") as coming:
                coming.writelines(parts)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as wrong:
        raise FairleadError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong
