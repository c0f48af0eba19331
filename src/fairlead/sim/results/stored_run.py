"""One run read back from its folder. Its large tables are read when somebody asks for them."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from fairlead.sim.measures.series import Series
from fairlead.sim.measures.summary import Summary
from fairlead.sim.results.about import (
    EVICTIONS_FILE,
    JOBS_FILE,
    RUN_FILE,
    SERIES_FILE,
    SUMMARY_FILE,
    SUMMED_FILES,
    RunAbout,
)
from fairlead.sim.results.check_run import check_about, check_summary
from fairlead.sim.results.eviction_table import read_evictions
from fairlead.sim.results.file_sums import check_sums
from fairlead.sim.results.job_table import read_jobs
from fairlead.sim.results.json_file import read_json
from fairlead.sim.results.rows import EvictionRow, JobRow
from fairlead.sim.results.series_table import read_series


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
        """Yield who was told to leave, in the order of time."""
        return read_evictions(self.folder / EVICTIONS_FILE)
