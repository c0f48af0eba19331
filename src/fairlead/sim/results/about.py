"""The metadata of a result and of each of its runs, and the names of runs and files."""

import os
import sys
from typing import Final, NamedTuple

import msgspec

from fairlead.errors import ResultError
from fairlead.policy.contract import PolicyName

FORMAT: Final = "fairlead-simulation"
VERSION: Final = 3

RESULT_FILE: Final = "result.json"
PAGE_FILE: Final = "report.html"
ASIDE: Final = ".fairlead-unfinished"  # the folder of runs that have not ended
RUN_FILE: Final = "run.json"
SUMMARY_FILE: Final = "summary.json"
MEASURES_FILE: Final = "measures.csv"
SERIES_FILE: Final = "series.csv"
JOBS_FILE: Final = "jobs.csv"
EVICTIONS_FILE: Final = "evictions.csv"
RUN_FILES: Final = (
    RUN_FILE,
    SUMMARY_FILE,
    MEASURES_FILE,
    SERIES_FILE,
    JOBS_FILE,
    EVICTIONS_FILE,
)
SUMMED_FILES: Final = tuple(name for name in RUN_FILES if name != RUN_FILE)
"""Files of which the one that says what the run was keeps a sum."""


class ResultAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder with results says of itself."""

    format: str = FORMAT
    version: int = VERSION
    scenario: str  # its name
    complete: bool = False  # all runs that were asked for are there, each until its end
    runs: tuple[str, ...] = ()  # names of folders, in the order in which they were asked for
    leaving: tuple[str, ...] = ()  # runs of an older result that are being removed


class WorkMarks(msgspec.Struct, frozen=True, kw_only=True):
    """Marks of the work of a run: equal marks and seed, equal jobs."""

    duration_ms: int | None  # None: until all work is done
    sources: dict[str, str]  # the SHA-256 of what each source of work says, by its name


class HistoryMark(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of a history: equal marks, equal use before the start."""

    begins_ms: int  # its first entry, on the clock of the simulation
    entries: int
    sha256: str  # of all of them

    @property
    def short(self) -> str:
        """Enough of the hash to distinguish two of them."""
        return self.sha256[:8]


class RunAbout(msgspec.Struct, frozen=True, kw_only=True):
    """One run: under which rules, with what chance, and until when."""

    name: str  # that of its folder
    scenario: str
    variant: str
    policy: PolicyName
    seed: int
    is_random: bool = True  # False: nothing is drawn, so every seed gives the same run
    settings: dict[str, str] = {}  # what was set by name, as it was written
    history: HistoryMark | None = None  # None: nothing was used before the start
    complete: bool  # False: it was stopped before its end, at end_ms
    start_ms: int
    end_ms: int
    cycles: int
    resources: tuple[str, ...]  # that are measured
    parents: dict[str, str | None]  # the queues, in the order of their names
    bucket_ms: int  # how long each bucket of the series lasts
    work: WorkMarks
    files: dict[str, str] = {}  # the SHA-256 of the others of its folder, once they are written


LONGEST_BYTES: Final = 255
"""Of a name in the file systems that people have."""

_TAKEN: Final = frozenset({RESULT_FILE, f"{RESULT_FILE}.part", PAGE_FILE, ASIDE})


class NameProblem(NamedTuple):
    """Why no run can be called so, in words that follow the name, and how to fix it."""

    problem: str
    fix: str = "give its variant another name"


NOT_HERE: Final = NameProblem(
    f"which has letters that no file can have here, in {sys.getfilesystemencoding()}",
    "set a locale with UTF-8, such as LC_ALL=C.UTF-8, or give its variant another name",
)
"""A locale may know few letters: what one process wrote, another cannot even name."""


def check_run_name(name: str) -> None:
    """Raise `ResultError`, which says how to fix it, if no run can be called *name*."""
    found = run_name_problem(name)
    if found is not None:
        raise ResultError(f"found a run called {_short(name)}, {found.problem}: {found.fix}")


def run_name_problem(name: str) -> NameProblem | None:
    """Return why no run can be called *name*; None if one can."""
    if name in ("", ".", "..") or set(name) & set("/\\\0"):
        return NameProblem("which no folder can be called")
    if name.casefold() in _TAKEN:  # some file systems take capital letters for small ones
        return NameProblem("which is the name of a file of every result")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return NameProblem("which cannot be written in UTF-8")
    if length > LONGEST_BYTES:
        return NameProblem(
            f"a name of {length:,} bytes, expected at most {LONGEST_BYTES}",
            "give its variant a shorter one, or sweep over fewer settings at a time",
        )
    return None if is_writable_here(name) else NOT_HERE


def is_writable_here(name: str) -> bool:
    """Return whether this process can write *name* as that of a file."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _short(name: str) -> str:
    shown = 40
    return repr(name if len(name) <= shown else f"{name[:shown]}...")
