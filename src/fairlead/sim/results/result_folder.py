"""The folder that runs are written to: nothing that is not ours is ever overwritten in it.

A result that is there stays as it is until a run of the new one has ended: runs are written aside,
in a folder of their own, and moved to their places when they are whole. So what `result.json` lists
is whole at every moment, also after a process was killed. What such a process leaves is either in
that folder or listed as leaving, and goes when the next one writes there.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.results.about import (
    ASIDE,
    FORMAT,
    PAGE_FILE,
    RESULT_FILE,
    RUN_FILES,
    ResultAbout,
    RunAbout,
    check_run_name,
    is_writable_here,
    run_name_problem,
)
from fairlead.sim.results.files import not_written, read_json, write_json
from fairlead.sim.results.own_files import a_link, open_below, remove_all
from fairlead.sim.results.parquet_tables import PARQUET_FILES

_OURS: Final = frozenset({*RUN_FILES, *PARQUET_FILES})
_BEGUN: Final = f"{RESULT_FILE}.part"
_PAGE_MARK: Final = b'<meta name="generator" content="fairlead '
_HEAD_BYTES: Final = 4096  # of a page, in which the mark is


class ResultFolder:
    """A folder that is ours to write, and what it says of itself while runs end one by one."""

    def __init__(self, path: Path, scenario: str, runs: Iterable[str]) -> None:
        """Take *path* for the *runs* of a scenario, until it is closed.

        Raises `ResultError` for a folder with other things in it, for one that cannot be written or
        that another process writes to, and for a run that cannot be called so.
        """
        self.path = path
        self.aside = path / ASIDE
        self._asked = tuple(runs)
        self._ended: dict[str, bool] = {}
        for name in self._asked:
            check_run_name(name)
        try:
            self._is_new = not path.exists()
            _runs_there(path)
            _check_links(path, self._asked)
            _check_ways(path, self._asked)
            path.mkdir(parents=True, exist_ok=True)
            with ExitStack() as opened:
                before = self._take(opened)
                self._opened = opened.pop_all()
        except OSError as wrong:
            raise not_written(path, wrong) from None
        self._about = ResultAbout(scenario=scenario, leaving=before)

    def _take(self, opened: ExitStack) -> tuple[str, ...]:
        """Keep other processes out, and return the runs that are there."""
        self._folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, self._folder)
        with suppress(FileExistsError):
            os.mkdir(ASIDE, dir_fd=self._folder)
        self._hold = _hold(self._folder, self.aside)
        opened.callback(os.close, self._hold)
        before = _runs_there(self.path)  # another one may have ended until then
        _check_links(self.path, before)
        remove_all(self._hold)
        with suppress(FileNotFoundError):
            os.unlink(_BEGUN, dir_fd=self._folder)
        return before

    @property
    def has_ended(self) -> bool:
        """Whether some run has ended, so that the folder has a result of ours."""
        return bool(self._ended)

    def of_run(self, name: str) -> Path:
        """Return where the run of that name is to be written; `ended` puts it to its place."""
        return self.aside / name

    def ended(self, run: RunAbout) -> None:
        """Take notice that a run is written. In which order they end makes no difference.

        With the first one, the result that was there before makes way. Until it is listed, the run
        is among those that leave: a command that is stopped here leaves a folder that can be
        understood.
        """
        leaving = tuple(dict.fromkeys([*self._about.leaving, run.name]))
        self._write_about(leaving=leaving)
        try:
            for name in leaving:
                _remove_run(self._folder, self.path / name)
            if not self._ended:
                _remove_page(self.path / PAGE_FILE)
            os.rename(run.name, run.name, src_dir_fd=self._hold, dst_dir_fd=self._folder)
        except OSError as wrong:
            raise not_written(self.path / run.name, wrong) from None
        self._ended[run.name] = run.complete
        names = tuple(name for name in self._asked if name in self._ended)
        is_complete = names == self._asked and all(self._ended.values())
        self._write_about(runs=names, complete=is_complete, leaving=())

    def close(self) -> None:
        """Remove what there is of runs that have not ended, and let others write here.

        If none has, the folder is as it was.
        """
        shutil.rmtree(ASIDE, ignore_errors=True, dir_fd=self._folder)
        self._opened.close()
        if self._is_new and not self._ended:
            with suppress(OSError):  # something was put there meanwhile
                self.path.rmdir()

    def _write_about(self, **facts: Any) -> None:
        self._about = msgspec.structs.replace(self._about, **facts)
        write_json(self.path / RESULT_FILE, self._about, own=0)


RESULTS: Final = "results"
"""The folder for results whose place the user did not name."""

MOST_LETTERS: Final = 60
"""The longest folder name of our own choice; file systems count bytes, up to four a letter."""


def free_folder(parent: Path, name: str) -> Path:
    """Return the first of NAME, NAME-2, NAME-3 ... just below *parent* that does not exist.

    What a name of a folder should not have, or cannot have in the locale of this process, is a
    dash in it; a very long name is cut.
    """
    plain = "".join([each if _is_plain(each) else "-" for each in name])
    name = plain.lstrip(".")[:MOST_LETTERS] or "result"
    found, number = parent / name, 1
    while found.exists():
        number += 1
        found = parent / f"{name}-{number}"
    return found


def _is_plain(letter: str) -> bool:
    return (letter.isalnum() or letter in "._-") and is_writable_here(letter)


class _Listed(msgspec.Struct):
    """What says of every version which runs are there."""

    format: str = ""
    runs: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()


def _runs_there(path: Path) -> tuple[str, ...]:
    """Return the runs of the result that is in *path*, of whatever version and however damaged."""
    if path.exists() and not path.is_dir():
        raise ResultError(f"{path} is a file: name a folder that is new or empty")
    file = path / RESULT_FILE
    if file.is_file():
        return _listed(file)
    if path.is_dir() and any(each.name not in (ASIDE, _BEGUN) for each in path.iterdir()):
        raise ResultError(
            f"{path} has other files in it and no results of ours: name one that is new or empty"
        )
    return ()


def _listed(file: Path) -> tuple[str, ...]:
    try:
        found = read_json(file, _Listed)
    except ResultError:
        text = file.read_bytes()
        if FORMAT.encode() not in text and text.strip(b"\0 \r\n\t"):
            raise ResultError(
                f"{file} is damaged or not of a simulation: move it elsewhere, or name another "
                "folder"
            ) from None
        return ()  # ours, and which runs it had is not known
    if found.format != FORMAT:
        raise ResultError(
            f"{file} is not of a simulation: move it elsewhere, or name another folder"
        )
    names = (*found.runs, *found.leaving)
    return tuple(name for name in names if run_name_problem(name) is None)


def _check_ways(path: Path, runs: Iterable[str]) -> None:
    """Raise `ResultError` if something that is not ours is in the way of a run."""
    for name in runs:
        inside = path / name
        if inside.exists() and not inside.is_dir():
            raise ResultError(f"{inside} is in the way of a run: move it elsewhere")
        if inside.is_dir() and not {each.name for each in inside.iterdir()} <= _OURS:
            raise ResultError(f"{inside} has other files in it: move them elsewhere")


def _check_links(path: Path, runs: Iterable[str]) -> None:
    """Raise `ResultError` for a run that is a link, before anything is simulated."""
    for name in runs:
        if (path / name).is_symlink():
            raise a_link(path / name)


def _hold(above: int, folder: Path) -> int:
    """Return what keeps other processes out of *folder*, until it is closed or the process ends."""
    held = open_below(above, folder)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise ResultError(
            f"another simulation is writing to {folder.parent}: wait for it, or name another folder"
        ) from None
    except OSError:
        pass  # a file system without locks: people have to take care themselves
    return held


def _remove_run(above: int, folder: Path) -> None:
    """Remove the files of a run, and its folder unless there is more in it."""
    try:
        opened = open_below(above, folder)
    except FileNotFoundError:
        return
    try:
        for name in _OURS:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=opened)
        with os.scandir(opened) as left:
            is_empty = next(left, None) is None
    finally:
        os.close(opened)
    if is_empty:
        os.rmdir(folder.name, dir_fd=above)


def _remove_page(file: Path) -> None:
    """Remove a report of ours, which would describe what is gone; other files stay."""
    if file.is_symlink() or not file.is_file():
        return
    with file.open("rb") as stream:
        is_ours = _PAGE_MARK in stream.read(_HEAD_BYTES)
    if is_ours:
        file.unlink()
