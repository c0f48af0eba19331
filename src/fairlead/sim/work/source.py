"""Sources of work: they make jobs and submit them, by themselves or in answer to other jobs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TypeAlias

from fairlead.sim.engine.job import Job
from fairlead.sim.work.arrivals import arrival_times
from fairlead.sim.work.description import ArrivingWork, Backlog, WorkDescription, naming
from fairlead.sim.work.job_shape import SHORTEST_MS, JobShape
from fairlead.sim.work.number import Draw, Number, drawing, picking, random_stream

_DrawMaybe: TypeAlias = Callable[[], int | None]


class JobMaker:
    """Makes the first job, the second and so on; only the description and the seed decide."""

    def __init__(self, work: WorkDescription, seed: int) -> None:
        """Start before the first job; *work* has no defects. Cost: a stream per purpose."""
        self.made = 0
        self._source = work.name
        self._queue = naming(work.queue, random_stream(seed, work.name, "queue"))
        self._user = naming(work.user, random_stream(seed, work.name, "user"))
        self._next_shape = picking(
            [self._draws(shape, seed, index) for index, shape in enumerate(work.shapes)],
            [shape.weight for shape in work.shapes],
            random_stream(seed, work.name, "shape"),
        )

    def make(self, submit_ms: int) -> Job:
        """Return the next job, submitted at *submit_ms*. Cost: a few microseconds."""
        self.made += 1
        shape, draw_pods, draw_run_ms, draw_asked_ms = self._next_shape()
        pods = draw_pods()
        return Job(
            name=f"{self._source}-{self.made}",
            queue=self._queue(),
            user=self._user(),
            kind=self._source,
            submit_ms=submit_ms,
            run_ms=draw_run_ms(),
            pods=pods,
            min_pods=pods if shape.min_pods is None else shape.min_pods,
            requests=shape.requests,
            priority=shape.priority,
            preemptible=shape.preemptible,
            checkpoint_ms=shape.checkpoint_ms,
            asked_ms=draw_asked_ms(),
            node_labels=shape.node_labels,
        )

    def _draws(
        self, shape: JobShape, seed: int, index: int
    ) -> tuple[JobShape, Draw, _DrawMaybe, _DrawMaybe]:
        def maybe(number: Number | None, purpose: str) -> _DrawMaybe:
            if number is None:
                return lambda: None
            stream = random_stream(seed, self._source, purpose, index)
            return drawing(number, stream, lowest=SHORTEST_MS)

        pods_stream = random_stream(seed, self._source, "pods", index)
        return (
            shape,
            drawing(shape.pods, pods_stream, lowest=shape.fewest_pods),
            maybe(shape.run_ms, "run"),
            maybe(shape.asked_ms, "asked"),
        )


class WorkSource:
    """Submits jobs, each with the source's name as its kind, whatever becomes of them."""

    def __init__(self, name: str, make_jobs: Callable[[], Iterator[Job]]) -> None:
        """*make_jobs* gives all jobs in the order of time, the same ones each time."""
        self.name = name
        self._make_jobs = make_jobs

    def jobs(self) -> Iterator[Job]:
        """Begin anew, and return what is submitted by itself, in the order of time."""
        return self._make_jobs()

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because a job of this source has got places."""
        del job, at_ms
        return ()

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because a job of this source is done."""
        del job, at_ms
        return ()


def _arriving(work: ArrivingWork, seed: int, start_ms: int) -> Iterator[Job]:
    """Return the jobs of *work*, made as they are asked for."""
    times = arrival_times(work.arrivals, work.shapes, seed, work.name)
    make = JobMaker(work, seed).make
    return (make(start_ms + at_ms) for at_ms in islice(times, work.jobs_at_most))


class BacklogSource(WorkSource):
    """Submits a job for each that leaves, so that there are always as many as asked for.

    With keep "waiting" a job leaves when it first starts: an evicted one waits again, and then
    there is one more than asked for, never one fewer. Memory: the names of the jobs that started
    and are not done.
    """

    def __init__(self, work: Backlog, seed: int, start_ms: int) -> None:
        """Take a description without defects, whose times count from *start_ms*."""
        super().__init__(work.name, self._first_jobs)
        self._work = work
        self._seed = seed
        self._start_ms = start_ms
        self._started: set[str] = set()

    def _first_jobs(self) -> Iterator[Job]:
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
        submit_ms = max(at_ms, self._start_ms + work.from_ms)
        if work.until_ms is not None and submit_ms >= self._start_ms + work.until_ms:
            return []
        if work.jobs_at_most is not None and self._maker.made >= work.jobs_at_most:
            return []
        return [self._maker.make(submit_ms)]


def make_source(work: WorkDescription, seed: int, start_ms: int = 0) -> WorkSource:
    """Return the source that is described, which has no defects.

    Its times count from *start_ms*. The arguments and nothing else decide about its jobs.
    """
    match work:
        case ArrivingWork():
            return WorkSource(work.name, partial(_arriving, work, seed, start_ms))
        case Backlog():
            return BacklogSource(work, seed, start_ms)


class AllWork:
    """All sources, and for each job the source that is called about it."""

    def __init__(self, sources: Sequence[WorkSource]) -> None:
        """Take sources with a name each."""
        self._by_name = {source.name: source for source in sources}

    def jobs(self) -> Iterator[Job]:
        """Begin all sources anew, and yield their jobs by time, then source, then number.

        Each is made when it is asked for: memory does not grow with their number. Cost of a job:
        O(log sources).
        """
        # Of equal keys, merge takes the one of the earlier source first.
        each = (source.jobs() for source in self._by_name.values())
        return merge(*each, key=attrgetter("submit_ms"))

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because *job* has got places."""
        return self._by_name[job.kind].on_started(job, at_ms)

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because *job* is done."""
        return self._by_name[job.kind].on_finished(job, at_ms)
