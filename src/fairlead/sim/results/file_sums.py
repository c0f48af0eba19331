"""Whether files are as they were written: a sum of the bytes of each, kept beside them.

A table that was cut at the end of a line, or edited, is a table still: nothing in it tells that
lines are missing. Its sum does. Cost: reading the files once, far quicker than what wrote them.
"""

from collections.abc import Iterable, Mapping
from hashlib import file_digest
from pathlib import Path

from fairlead.sim.results.file_errors import damaged, not_read


def file_sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, as ``sha256sum`` prints it."""
    return {name: _sum(folder / name) for name in names}


def check_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Raise `ResultError` for the first file that is missing or not as it was written."""
    for name, expected in sums.items():
        if _sum(folder / name) != expected:
            raise damaged(folder / name, None, "it was cut or changed after it was written")


def _sum(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as wrong:
        raise not_read(path, wrong) from None
