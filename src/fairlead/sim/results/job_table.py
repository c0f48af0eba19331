"""``jobs.csv``: a line for each job as it ends, and for those alive at the end.

Times are milliseconds since 1970; amounts are base units. Memory: a few numbers per live job.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.results.files import (
    LONGEST_CELL,
    CsvFile,
    check_texts,
    given_cells,
    read_rows,
)

Outcome: TypeAlias = Literal["finished", "running", "waiting"]


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line: a job that is done, or how far it was at the end of the run.

    Pod times: ``held_ms`` with a place, of which ``lost_ms`` led to nothing. What a job held of a
    resource is its request times ``held_ms``.
    """

    job: str = ""
    queue: str = ""
    user: str = ""
    kind: str = ""
    outcome: Outcome
    submit_ms: int
    first_start_ms: int | None = None  # None: it never started
    finish_ms: int | None = None  # None: it is not done
    run_ms: int | None = None  # None: for ever
    pods: int
    min_pods: int
    priority: int
    told_to_leave: int  # how often pods of it were, for whatever cause
    held_ms: int
    lost_ms: int
    requests: dict[str, int]  # of each pod; a resource that it does not ask for is left out


def job_columns(resources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the head of the table; what a pod asks for has a column for each resource."""
    own = JobRow.__struct_fields__[:-1]
    return (*own, *(f"requests/{resource}" for resource in resources))


class _LiveJob:
    """What became of a job so far."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.first_start_ms: int | None = None
        self.pods = 0  # that have a place
        self.moment = 0  # pod time held until t is pods * t - moment
        self.told_to_leave = 0
        self.lost_ms = 0

    def hold(self, at_ms: int, pods: int) -> None:
        """From now on so many pods more, or fewer, have a place."""
        self.pods += pods
        self.moment += pods * at_ms


class JobTable:
    """Listens to a simulation and writes its jobs."""

    def __init__(self, path: Path, resources: tuple[str, ...]) -> None:
        """Begin the table anew."""
        self._file = CsvFile(path, job_columns(resources))
        self._resources = resources
        self._live: dict[str, _LiveJob] = {}
        self.finished = 0
        self._take: dict[type[SimulationEvent], Callable[[Any], None]] = {
            Submitted: self._submit,
            Started: self._start,
            Evicted: self._evict,
            Stopped: self._stop,
            Finished: self._finish,
            CapacityChanged: lambda _: None,
        }

    def __call__(self, event: SimulationEvent) -> None:
        """Take notice of what happened."""
        self._take[type(event)](event)

    def end(self, at_ms: int) -> None:
        """Write the jobs that are alive, in the order of submission, and close the table."""
        for live in self._live.values():
            self._write(live, at_ms, "running" if live.pods else "waiting", None)
        self._live.clear()
        self.close()

    def close(self) -> None:
        """Leave the table as it is."""
        self._file.close()

    def _submit(self, event: Submitted) -> None:
        job = event.job
        texts = job.name, job.queue, job.user, job.kind
        if sum(map(len, texts)) > LONGEST_CELL:
            check_texts(texts)  # before it has run for long
        self._live[job.name] = _LiveJob(job)

    def _start(self, event: Started) -> None:
        live = self._live[event.job.name]
        live.hold(event.at_ms, event.pods)
        if live.first_start_ms is None:
            live.first_start_ms = event.at_ms

    def _evict(self, event: Evicted) -> None:
        self._live[event.job.name].told_to_leave += 1

    def _stop(self, event: Stopped) -> None:
        live = self._live[event.job.name]
        live.hold(event.at_ms, -event.pods)
        live.lost_ms += event.lost_ms

    def _finish(self, event: Finished) -> None:
        live = self._live.pop(event.job.name)
        self.finished += 1
        self._write(live, event.at_ms, "finished", event.at_ms)

    def _write(self, live: _LiveJob, at_ms: int, outcome: Outcome, finish_ms: int | None) -> None:
        job, held_ms = live.job, live.pods * at_ms - live.moment
        names = (job.name, job.queue, job.user, job.kind)
        times = (job.submit_ms, live.first_start_ms, finish_ms, job.run_ms)
        pods = (job.pods, job.min_pods, job.priority, live.told_to_leave, held_ms, live.lost_ms)
        asked = [job.requests.get(resource, 0) for resource in self._resources]
        self._file.add((*names, outcome, *times, *pods, *asked))


def read_jobs(path: Path, resources: tuple[str, ...]) -> Iterator[JobRow]:
    """Yield the jobs of a table, one at a time."""
    *own, _ = JobRow.__struct_fields__

    def job(cells: list[str]) -> JobRow:
        amounts = map(int, cells[len(own) :])
        requests = {name: amount for name, amount in zip(resources, amounts, strict=True) if amount}
        row = {**given_cells(own, cells[: len(own)]), "requests": requests}
        return msgspec.convert(row, JobRow, strict=False)

    return read_rows(path, job_columns(resources), job)
