"""Reads the runs of a result back from its folder; large tables are read on demand.

The file that describes a run has no checksum and people edit it: whatever it says, the other files
must agree with it, and reading them must come to an end.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, get_args

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.engine.events import Cause
from fairlead.sim.measures.series import MOST_BUCKETS, Series
from fairlead.sim.measures.summary import JobMeasures, Summary
from fairlead.sim.results.about import (
    ASIDE,
    EVICTIONS_FILE,
    FORMAT,
    JOBS_FILE,
    NOT_HERE,
    RESULT_FILE,
    RUN_FILE,
    SERIES_FILE,
    SUMMARY_FILE,
    SUMMED_FILES,
    VERSION,
    ResultAbout,
    RunAbout,
    run_name_problem,
)
from fairlead.sim.results.eviction_table import EvictionRow, read_evictions
from fairlead.sim.results.files import check_sums, damaged, read_json
from fairlead.sim.results.job_table import JobRow, read_jobs
from fairlead.sim.results.series_table import read_series

_BY_CAUSE: Final = ("preemptions", "preempted_pods", "lost_by_cause")
_CAUSES: Final = frozenset(get_args(Cause))


def check_about(path: Path, about: RunAbout) -> None:
    """Raise `ResultError` where *about*, read from *path*, cannot be of any run."""
    for problem in _problems(about):
        raise damaged(path, None, problem)


def check_summary(path: Path, summary: Summary, about: RunAbout) -> None:
    """Raise `ResultError` where *summary* does not agree with what the run has."""
    if set(summary.of_queues) != set(about.parents):
        raise damaged(path, None, f"found other queues than in {RUN_FILE}")
    for rows in ({"": summary.of_cluster}, summary.of_queues, summary.of_users, summary.of_kinds):
        for row in rows.values():
            if any(set(each) != set(about.resources) for each in _by_resource(row)):
                raise damaged(path, None, f"found other resources than in {RUN_FILE}")
            if any(set(getattr(row, field)) != _CAUSES for field in _BY_CAUSE):
                raise damaged(path, None, "found other causes than those of evictions")


def _problems(about: RunAbout) -> Iterator[str]:
    if about.bucket_ms < 1 or about.end_ms < about.start_ms:
        yield "time does not go on in it"
        return
    buckets = -(-(about.end_ms - about.start_ms) // about.bucket_ms)
    if buckets > MOST_BUCKETS:
        yield f"found {buckets:,} buckets of time, expected at most {MOST_BUCKETS:,}"
    if len(set(about.resources)) < len(about.resources):
        yield "found a resource twice"
    yield from _tree_problems(about.parents)
    if run_name_problem(about.name) is not None:  # pictures are called so, too
        yield f"{about.name!r} is no name of a run"
    for name in SUMMED_FILES:
        if name not in about.files:
            yield f"found no sum of {name}"


def _tree_problems(parents: Mapping[str, str | None]) -> Iterator[str]:
    """Raise `ResultError` for queues without a way to the root. Cost: linear."""
    rooted: set[str] = set()  # queues that are known to lead to the root
    for name in parents:
        way: set[str] = set()
        above: str | None = name
        while above is not None and above not in rooted:
            if above not in parents:
                yield f"found {above!r} above other queues, and no such queue"
                return
            if above in way:
                yield f"found the queue {above!r} above itself"
                return
            way.add(above)
            above = parents[above]
        rooted |= way


def _by_resource(row: JobMeasures) -> Iterator[Mapping[str, object]]:
    for field in row.__struct_fields__:
        value = getattr(row, field)
        if isinstance(value, dict) and field not in _BY_CAUSE:
            yield value
    yield from row.lost_by_cause.values()


class StoredRun:
    """What a run came to. Raises `ResultError` where a file is missing or damaged."""

    def __init__(self, folder: Path) -> None:
        """Read what the run was, and see that its files are as they were written."""
        self.folder = folder
        self.about = read_json(folder / RUN_FILE, RunAbout)
        check_about(folder / RUN_FILE, self.about)
        check_sums(folder, {name: self.about.files[name] for name in SUMMED_FILES})

    @cached_property
    def summary(self) -> Summary:
        """Every measure."""
        summary = read_json(self.folder / SUMMARY_FILE, Summary)
        check_summary(self.folder / SUMMARY_FILE, summary, self.about)
        return summary

    @cached_property
    def series(self) -> Series:
        """What each queue had over time."""
        return read_series(self.folder / SERIES_FILE, self.about)

    def jobs(self) -> Iterator[JobRow]:
        """Yield the jobs as they ended, then those that are not done."""
        return read_jobs(self.folder / JOBS_FILE, self.about.resources)

    def evictions(self) -> Iterator[EvictionRow]:
        """Yield the evictions, in the order of time."""
        return read_evictions(self.folder / EVICTIONS_FILE)


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
