"""From a folder back to the runs of a simulation."""

from pathlib import Path

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.results.about import ASIDE, FORMAT, RESULT_FILE, VERSION, ResultAbout
from fairlead.sim.results.file_errors import damaged
from fairlead.sim.results.json_file import read_json
from fairlead.sim.results.run_names import NOT_HERE, run_name_problem
from fairlead.sim.results.stored_run import StoredRun


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result, and its runs in the order in which they were asked for."""

    folder: Path
    about: ResultAbout
    runs: tuple[StoredRun, ...]


class _Stamp(msgspec.Struct):
    """What every version of the format says, whatever else changes."""

    format: str = ""
    version: int = 0


def read_result(folder: str | Path) -> StoredResult:
    """Return the result in *folder*, also one that was stopped before its end.

    Raises `ResultError` for a folder that holds none, or one of another version, and for files that
    are missing or damaged. The tables of a run are read when they are asked for.
    """
    path = Path(folder)
    about = read_about(path)
    return StoredResult(
        folder=path, about=about, runs=tuple(StoredRun(path / name) for name in about.runs)
    )


def read_about(folder: Path) -> ResultAbout:
    """Return what *folder* says of itself; raises `ResultError` if it is no result of ours."""
    file = folder / RESULT_FILE
    if not file.is_file():
        if (folder / ASIDE).is_dir():
            raise ResultError(f"{folder} has only runs that have not ended: simulate again")
        what = "is no folder with results" if folder.exists() else "does not exist"
        raise ResultError(
            f"{folder} {what}: expected one with a {RESULT_FILE}, as fairlead simulate writes it"
        )
    stamp = read_json(file, _Stamp)
    if stamp.format != FORMAT:
        raise ResultError(f"{file} is not of a simulation: expected the format {FORMAT}")
    if stamp.version != VERSION:
        other = "a newer one" if stamp.version > VERSION else "the one that wrote it"
        raise ResultError(
            f"{folder} has version {stamp.version}, and this Fairlead knows {VERSION}: "
            f"read it with {other}, or simulate again"
        )
    about = read_json(file, ResultAbout)
    for name in about.runs:
        found = run_name_problem(name)
        if found is NOT_HERE:
            raise ResultError(f"{file}: found a run called {name!r}, {found.problem}: {found.fix}")
        if found is not None:
            raise damaged(file, None, f"{name!r} is no name of a run")
    return about
