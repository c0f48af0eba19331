"""The files of one run: written while it goes on, and rounded off when it ends."""

from contextlib import suppress
from pathlib import Path

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.engine.events import Evicted, SimulationEvent
from fairlead.sim.measures.series import Series
from fairlead.sim.measures.summary import Summary
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
from fairlead.sim.results.eviction_table import EvictionTable, Phrase
from fairlead.sim.results.files import file_sums, not_written, write_json
from fairlead.sim.results.job_table import JobTable
from fairlead.sim.results.measure_table import write_measures
from fairlead.sim.results.series_table import write_series


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
            (folder / RUN_FILE).unlink(missing_ok=True)
        except OSError as wrong:
            raise not_written(folder, wrong) from None
        self._jobs = JobTable(folder / JOBS_FILE, resources)
        self._evictions = EvictionTable(folder / EVICTIONS_FILE, phrase)

    @property
    def finished(self) -> int:
        """How many jobs are done."""
        return self._jobs.finished

    def __call__(self, event: SimulationEvent) -> None:
        """Take notice of what happened."""
        self._jobs(event)
        if type(event) is Evicted:
            self._evictions.add(event)

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
