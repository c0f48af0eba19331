"""The files of one run: written while it goes on, and rounded off when it ends.

``measures.csv`` is the summary flat, a line for each number.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.engine.events import Evicted, SimulationEvent
from fairlead.sim.measures.series import Series
from fairlead.sim.measures.summary import Summary, flat_measures
from fairlead.sim.results.about import (
    EVICTIONS_FILE,
    JOBS_FILE,
    MEASURES_FILE,
    RUN_FILE,
    SERIES_FILE,
    SUMMARY_FILE,
    SUMMED_FILES,
    RunAbout,
)
from fairlead.sim.results.eviction_table import COLUMNS as EVICTION_COLUMNS
from fairlead.sim.results.eviction_table import Phrase, eviction_cells
from fairlead.sim.results.files import Cell, CsvFile, file_sums, not_written, write_json
from fairlead.sim.results.job_table import JobTable
from fairlead.sim.results.own_files import OF_RUN, own_folder
from fairlead.sim.results.series_table import write_series

COLUMNS: Final = ("scope", "name", "measure", "resource", "value")


def write_measures(path: Path, summary: Summary, resources: tuple[str, ...]) -> None:
    """Write every number of *summary*; what is not defined is an empty cell."""
    table = CsvFile(path, COLUMNS)
    for row in measure_rows(summary, resources):
        table.add(row)
    table.close()


def measure_rows(summary: Summary, resources: tuple[str, ...]) -> Iterator[tuple[Cell, ...]]:
    """Yield every number with where it stands, in the columns of the table."""
    for (scope, name, path), value in flat_measures(summary):
        measure, resource = _without_resource(path, resources)
        yield scope, name, measure, resource, value


def _without_resource(path: str, resources: tuple[str, ...]) -> tuple[str, str]:
    """Take the name of a resource out of *path*, which may hold a slash itself."""
    for resource in resources:
        before, found, after = path.partition(f"/{resource}/")
        if found:
            return f"{before}/{after}", resource
        if path.endswith(f"/{resource}"):
            return path.removesuffix(f"/{resource}"), resource
    return path, ""


class RunWriter:
    """Listens to a simulation and writes its folder.

    Jobs and evictions go to disk as they happen: memory is bounded by the work that is alive. The
    file that says what the run was comes last, so a folder with one is whole.
    """

    def __init__(self, folder: Path, resources: tuple[str, ...], phrase: Phrase) -> None:
        """Make *folder* if it is not there, and begin its tables anew."""
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with own_folder(folder, OF_RUN) as opened, suppress(FileNotFoundError):
                os.unlink(RUN_FILE, dir_fd=opened)
        except OSError as wrong:
            raise not_written(folder, wrong) from None
        self._jobs = JobTable(folder / JOBS_FILE, resources)
        self._evictions = CsvFile(folder / EVICTIONS_FILE, EVICTION_COLUMNS)
        self._phrase = phrase

    @property
    def finished(self) -> int:
        """How many jobs are done."""
        return self._jobs.finished

    def __call__(self, event: SimulationEvent) -> None:
        """Take notice of what happened."""
        self._jobs(event)
        if type(event) is Evicted:
            self._evictions.add(eviction_cells(event, self._phrase))

    def end(self, about: RunAbout, summary: Summary, series: Series) -> RunAbout:
        """Write what remains, and at last what the run was, with sums of all files; return it."""
        self._jobs.end(about.end_ms)
        self._evictions.close()
        write_series(self._folder / SERIES_FILE, series)
        write_measures(self._folder / MEASURES_FILE, summary, about.resources)
        write_json(self._folder / SUMMARY_FILE, summary)
        about = msgspec.structs.replace(about, files=file_sums(self._folder, SUMMED_FILES))
        write_json(self._folder / RUN_FILE, about)
        return about

    def give_up(self) -> None:
        """Leave the folder without saying what the run was: it is not read as one."""
        with suppress(ResultError):  # what went wrong first is what is reported
            self._jobs.close()
        with suppress(ResultError):
            self._evictions.close()
