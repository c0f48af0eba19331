"""Sources of work: what submits jobs by itself, and what submits them in answer to others."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from fairlead.sim.job import Job
from fairlead.sim.work.arrivals import arrival_times
from fairlead.sim.work.description import ArrivingWork, Backlog, WorkDescription, work_defects
from fairlead.sim.work.job_maker import JobMaker


class WorkSource(Protocol):
    """Submits jobs, each with the source's name as its kind."""

    @property
    def name(self) -> str:
        """The first part of the name of every job."""

    def jobs(self) -> Iterator[Job]:
        """Begin anew, and return what is submitted by itself, in the order of time."""

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because a job of this source has got places."""
        del job, at_ms
        return ()

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because a job of this source is done."""
        del job, at_ms
        return ()


class ArrivingSource(WorkSource):
    """Submits jobs as they arrive, whatever becomes of them."""

    def __init__(self, work: ArrivingWork, seed: int) -> None:
        """Take a description without defects."""
        self._work = work
        self._seed = seed

    @property
    def name(self) -> str:
        """The first part of the name of every job."""
        return self._work.name

    def jobs(self) -> Iterator[Job]:
        """Return the jobs, made as they are asked for; the same ones each time."""
        work = self._work
        times = arrival_times(work.arrivals, work.shapes, self._seed, work.name)
        return map(JobMaker(work, self._seed).make, islice(times, work.jobs_at_most))


class BacklogSource(WorkSource):
    """Submits a job for each that leaves, so that as many as wanted are always there.

    With keep "waiting" a job leaves when it first starts: an evicted one waits again, and then
    there is one more than wanted, never one fewer. Memory: the names of the jobs that started and
    are not done.
    """

    def __init__(self, work: Backlog, seed: int) -> None:
        """Take a description without defects."""
        self._work = work
        self._seed = seed
        self._maker = JobMaker(work, seed)
        self._started: set[str] = set()

    @property
    def name(self) -> str:
        """The first part of the name of every job."""
        return self._work.name

    def jobs(self) -> Iterator[Job]:
        """Begin anew, and return the jobs that are there from the start."""
        self._maker = JobMaker(self._work, self._seed)
        self._started.clear()
        return iter([job for _ in range(self._work.jobs) for job in self._one_more(0)])

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """Return the next job if this one waited until now for the first time."""
        if self._work.keep == "alive" or job.name in self._started:
            return ()
        self._started.add(job.name)
        return self._one_more(at_ms)

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """Return the next job if this one counted until now."""
        self._started.discard(job.name)
        return self._one_more(at_ms) if self._work.keep == "alive" else ()

    def _one_more(self, at_ms: int) -> list[Job]:
        work = self._work
        submit_ms = max(at_ms, work.from_ms)
        if work.until_ms is not None and submit_ms >= work.until_ms:
            return []
        if work.jobs_at_most is not None and self._maker.made >= work.jobs_at_most:
            return []
        return [self._maker.make(submit_ms)]


def make_source(work: WorkDescription, seed: int) -> WorkSource:
    """Return the source that is described; raise `WorkError` for its first defect.

    The seed, the description and nothing else decide about its jobs.
    """
    for defect in work_defects(work):
        raise defect
    match work:
        case ArrivingWork():
            return ArrivingSource(work, seed)
        case Backlog():
            return BacklogSource(work, seed)
