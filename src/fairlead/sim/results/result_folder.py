"""The folder that runs are written to: nothing that is not ours is ever overwritten in it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.results.about import RESULT_FILE, RUN_FILES, ResultAbout, RunAbout
from fairlead.sim.results.file_errors import not_written
from fairlead.sim.results.json_file import write_json
from fairlead.sim.results.parquet_tables import PARQUET_FILES
from fairlead.sim.results.read_result import is_run_name, read_about

_OURS: Final = frozenset({*RUN_FILES, *PARQUET_FILES})


class ResultFolder:
    """A folder that is ours to write, and what it says of itself while runs end one by one."""

    def __init__(self, path: Path, scenario: str, runs: Iterable[str]) -> None:
        """Take *path* for the *runs* of a scenario; results of ours that are there make way.

        Raises `ResultError` for a folder with other things in it, or one that cannot be written.
        """
        self.path = path
        self._asked = tuple(runs)
        self._ended: dict[str, bool] = {}
        for name in self._asked:
            if not is_run_name(name):
                raise ResultError(f"found a run called {name!r}, which no folder can be called")
        self._about = ResultAbout(scenario=scenario)
        try:
            _make_room(path, self._asked)
        except OSError as wrong:
            raise not_written(path, wrong) from None
        write_json(path / RESULT_FILE, self._about)

    def of_run(self, name: str) -> Path:
        """Return where the run of that name is to be written."""
        return self.path / name

    def ended(self, run: RunAbout) -> None:
        """Take notice that a run is written. In which order they end makes no difference."""
        self._ended[run.name] = run.complete
        names = tuple(name for name in self._asked if name in self._ended)
        is_complete = names == self._asked and all(self._ended.values())
        self._about = msgspec.structs.replace(self._about, runs=names, complete=is_complete)
        write_json(self.path / RESULT_FILE, self._about)

    def remove_unended(self) -> None:
        """Remove what there is of runs that have not ended."""
        for name in self._asked:
            if name not in self._ended:
                _remove_run(self.of_run(name))


RESULTS: Final = "results"
"""The folder in which results are put that nobody named a place for."""

MOST_LETTERS: Final = 60
"""Of a folder's name that nobody chose; file systems count bytes, up to four of them a letter."""


def free_folder(parent: Path, name: str) -> Path:
    """Return the first of NAME, NAME-2, NAME-3 ... just below *parent* that does not exist.

    What a name of a folder should not have is a dash in it; a very long name is cut.
    """
    plain = "".join([each if each.isalnum() or each in "._-" else "-" for each in name])
    name = plain.lstrip(".")[:MOST_LETTERS] or "result"
    found, number = parent / name, 1
    while found.exists():
        number += 1
        found = parent / f"{name}-{number}"
    return found


def _make_room(path: Path, runs: tuple[str, ...]) -> None:
    if path.is_dir() and (path / RESULT_FILE).is_file():
        for name in read_about(path).runs:
            _remove_run(path / name)
    elif path.exists() and not path.is_dir():
        raise ResultError(f"{path} is a file: name a folder that is new or empty")
    elif path.is_dir() and any(path.iterdir()):
        raise ResultError(
            f"{path} has other files in it and no results of ours: name one that is new or empty"
        )
    path.mkdir(parents=True, exist_ok=True)
    for name in runs:
        inside = path / name
        if inside.exists() and not inside.is_dir():
            raise ResultError(f"{inside} is in the way of a run: move it elsewhere")
        if inside.is_dir() and not {each.name for each in inside.iterdir()} <= _OURS:
            raise ResultError(f"{inside} has other files in it: move them elsewhere")


def _remove_run(folder: Path) -> None:
    """Remove the files of a run, and its folder unless somebody put more into it."""
    for name in _OURS:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
