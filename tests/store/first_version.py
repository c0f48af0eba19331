"""A store that a program of the first version wrote, and what that program said is in it.

`data/version-1.db` was made by the code of commit f64b8db: twelve days of 19 queues and some users,
of which three are rolled up; a gap, a grant, a queue that was renamed and one that was removed; the
GPUs were counted from the seventh day on only; a checkpoint of most days, and a snapshot of the
usual rules after each. Pages were made small afterwards, to save room here.
`data/version-1.jsonl` is the export of the same program.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from fairlead.store.text.usage_text import UsageText, read_usage

DATA = Path(__file__).parent / "data"


def first_version(folder: Path) -> Path:
    """A copy of the file in *folder*."""
    return Path(shutil.copy(DATA / "version-1.db", folder / "use.db"))


def first_text() -> UsageText:
    """What the old program read from it."""
    with (DATA / "version-1.jsonl").open(encoding="utf-8") as lines:
        return read_usage("jsonl", lines, "version-1.jsonl")


def version(path: Path) -> int:
    """What the header of a file says."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def dump(path: Path) -> list[str]:
    """All that is in a file, as the statements that would make it again."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())
