"""The parts of the work of a scenario, and the sources that submit their jobs.

Descriptions count from the start of the simulation, but the simulation has a date.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import msgspec

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.trace_rules import TraceRules
from fairlead.sim.work.arrivals import At
from fairlead.sim.work.description import ArrivingWork, Backlog
from fairlead.sim.work.source import WorkSource, make_source


class JobList(msgspec.Struct, frozen=True, kw_only=True, tag="jobs"):
    """Jobs that the scenario lists, in the order of submission."""

    name: str
    jobs: tuple[Job, ...]


class TraceWork(msgspec.Struct, frozen=True, kw_only=True, tag="trace"):
    """Jobs of a log."""

    name: str
    path: str
    rules: TraceRules
    jobs_at_most: int | None = None


WorkPart: TypeAlias = ArrivingWork | Backlog | JobList | TraceWork


def is_endless(part: WorkPart) -> bool:
    """Return whether a simulation of *part* alone would never be over."""
    match part:
        case JobList(jobs=jobs):
            return any(job.run_ms is None for job in jobs)
        case TraceWork():
            return False
        case _:
            runs_on = any(shape.run_ms is None for shape in part.shapes)
            return runs_on or (part.jobs_at_most is None and not _has_end(part))


def _has_end(part: ArrivingWork | Backlog) -> bool:
    match part:
        case ArrivingWork(arrivals=At()):
            return True
        case ArrivingWork(arrivals=arrivals):
            return not isinstance(arrivals, At) and arrivals.until_ms is not None
        case Backlog():
            return part.until_ms is not None


class JobListSource(WorkSource):
    """Submits the jobs that a scenario lists."""

    def __init__(self, work: JobList) -> None:
        """Take jobs in the order of time."""
        self._work = work

    @property
    def name(self) -> str:
        """The kind of every job."""
        return self._work.name

    def jobs(self) -> Iterator[Job]:
        """Return the jobs, the same ones each time."""
        return iter(self._work.jobs)


class TraceSource(WorkSource):
    """Submits the jobs of a log."""

    def __init__(self, work: TraceWork, start_ms: int) -> None:
        """Read nothing yet. The times of the log count from *start_ms*."""
        self._work = work
        self._start_ms = start_ms

    @property
    def name(self) -> str:
        """The kind of every job, and the first part of its name."""
        return self._work.name

    def jobs(self) -> Iterator[Job]:
        """Read the log anew. Raises `TraceError` if it cannot be used."""
        jobs = jobs_of_trace(Path(self._work.path), self._work.rules, later_ms=self._start_ms)
        return islice(jobs, self._work.jobs_at_most)


class LaterSource(WorkSource):
    """Another source, with its zero at the start of the simulation."""

    def __init__(self, source: WorkSource, start_ms: int) -> None:
        """Let all of *source* happen *start_ms* later."""
        self._source = source
        self._start_ms = start_ms

    @property
    def name(self) -> str:
        """That of the other source."""
        return self._source.name

    def jobs(self) -> Iterator[Job]:
        """Begin the other source anew, and return its jobs."""
        return self._later(self._source.jobs())

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """Return what the other source submits because *job* has got places."""
        jobs = self._source.on_started(job, at_ms - self._start_ms)
        return list(self._later(jobs)) if jobs else ()

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """Return what the other source submits because *job* is done."""
        jobs = self._source.on_finished(job, at_ms - self._start_ms)
        return list(self._later(jobs)) if jobs else ()

    def _later(self, jobs: Iterable[Job]) -> Iterator[Job]:
        replace, start_ms = msgspec.structs.replace, self._start_ms
        if not start_ms:
            return iter(jobs)
        return (replace(job, submit_ms=job.submit_ms + start_ms) for job in jobs)


def source_of(part: WorkPart, seed: int, start_ms: int) -> WorkSource:
    """Return the source of *part*; only the arguments, and the log of a trace, decide."""
    match part:
        case JobList():
            return LaterSource(JobListSource(part), start_ms)
        case TraceWork():
            return TraceSource(part, start_ms)  # whose jobs are many, and need be made but once
        case _:
            return LaterSource(make_source(part, seed), start_ms)
