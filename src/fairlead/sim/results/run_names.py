"""What a run may be called: it is the name of its folder, beside the files of its result."""

import os
import sys
from typing import Final, NamedTuple

from fairlead.errors import ResultError
from fairlead.sim.results.about import ASIDE, PAGE_FILE, RESULT_FILE

LONGEST_BYTES: Final = 255
"""Of a name in the file systems that people have."""

_TAKEN: Final = frozenset({RESULT_FILE, f"{RESULT_FILE}.part", PAGE_FILE, ASIDE})


class NameProblem(NamedTuple):
    """Why no run can be called so, in words that follow the name, and how to mend it."""

    problem: str
    fix: str = "give its variant another name"


NOT_HERE: Final = NameProblem(
    f"which has letters that no file can have here, in {sys.getfilesystemencoding()}",
    "set a locale with UTF-8, such as LC_ALL=C.UTF-8, or give its variant another name",
)
"""A locale may know few letters: what one process wrote, another cannot even name."""


def check_run_name(name: str) -> None:
    """Raise `ResultError`, which says how to mend it, if no run can be called *name*."""
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
