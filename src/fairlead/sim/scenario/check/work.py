"""Whether the work of a scenario can run on its cluster: queues, resources and names of jobs."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.scenario.check.room import Gang
from fairlead.sim.scenario.variant.nodes import ErrorReport
from fairlead.sim.scenario.work_part import JobList, TraceWork, WorkPart
from fairlead.sim.work.arrivals import At, Every
from fairlead.sim.work.description import ArrivingWork, Drawn, InTurn, Names, expected_jobs
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import highest_draw


class Offer(NamedTuple):
    """What jobs can ask for under one rule set."""

    queues: set[str]
    resources: tuple[str, ...]


def check_work(
    part: WorkPart, offer: Offer, path: Path, job_places: Mapping[str, Path], report: ErrorReport
) -> None:
    """Report queues and resources of *part*, at *path*, that do not exist; nothing about a log.

    *job_places* says where listed jobs stand.
    """
    for name, place in _queues(part, path, job_places):
        if name not in offer.queues:
            message = f"found the queue {quote(name)}, which does not exist or runs no jobs"
            hint = did_you_mean(name, offer.queues) or "name a queue with none below it"
            report(place, "missing-reference", message, hint)
    known = offer.resources
    usual = f"ask for {', '.join(known)}" if known else "add it to the capacity of nodes"
    for each in gangs_of(part, path, job_places):
        for resource in each.gang.requests:
            if resource not in known:
                message = f"found {quote(resource)}, which no node has"
                hint = did_you_mean(resource, known) or usual
                report((*each.path, "requests"), "missing-reference", message, hint)


def _queues(
    part: WorkPart, path: Path, job_places: Mapping[str, Path]
) -> Iterator[tuple[str, Path]]:
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            first = {job.queue: job.name for job in reversed(jobs)}
            for name in sorted(first):
                yield name, job_places[first[name]]
        case _:
            for name in _each(part.queue):
                yield name, (*path, "queue")


class GangAsked(NamedTuple):
    """The gang of a job or a shape, where it stands, and the queues that it may be for."""

    path: Path
    queues: tuple[str, ...]
    gang: Gang


def gangs_of(part: WorkPart, path: Path, job_places: Mapping[str, Path]) -> Iterator[GangAsked]:
    """Yield the gangs that the file describes under *path*: none of a log.

    Of a shape it is the largest that may be drawn.
    """
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            for job in jobs:
                gang = Gang(
                    job.requests, job.min_pods, job.node_labels, preemptible=job.preemptible
                )
                yield GangAsked(job_places[job.name], (job.queue,), gang)
        case _:
            queues = tuple(_each(part.queue))
            for place, shape in enumerate(part.shapes):
                yield GangAsked((*path, "shapes", place), queues, _largest_gang(shape))


def _largest_gang(shape: JobShape) -> Gang:
    return Gang(
        shape.requests,
        highest_draw(shape.pods) if shape.min_pods is None else shape.min_pods,
        shape.node_labels,
        is_drawn=shape.min_pods is None and not isinstance(shape.pods, int),
        preemptible=shape.preemptible,
    )


def _each(names: Names) -> list[str]:
    match names:
        case str():
            return [names]
        case InTurn(names=listed):
            return list(listed)
        case Drawn(names=weighted):
            return [name for name, _ in weighted]


RENAME: Final = "rename one of them"


class Clash(NamedTuple):
    """Where a name stands that another job has too, and which."""

    path: Path
    message: str


class _Numbered(NamedTuple):
    """A source whose jobs are numbered, and how many there can be; None: any number."""

    path: Path
    most: int | None


class JobNames:
    """All names of jobs that the file lists, and all that its sources can make."""

    def __init__(
        self, listed: Mapping[str, Path], parts: Mapping[Path, WorkPart], until_ms: int | None
    ) -> None:
        """Take the *listed* jobs by name, and *parts* by where they stand."""
        self._listed = listed
        self._numbered = {
            part.name: _Numbered(path, _most_jobs(part, until_ms))
            for path, part in parts.items()
            if not isinstance(part, JobList | TraceWork)
        }
        self._of_logs: dict[Path, Clash] = {}  # the first at each place

    def notice(self, name: str, source: str) -> None:
        """Take notice that the log of *source* has a job called *name*. Cost: two look-ups."""
        path = self._listed.get(name)
        maker = self._maker(name) if path is None and self._numbered else None
        if path is None and maker is None:
            return
        what = f"the job {quote(name)}, which"
        if maker is not None:
            path = self._numbered[maker].path
            what = f"the source {quote(maker)}, whose job {quote(name)}"
        assert path is not None
        if path not in self._of_logs:
            message = f"found {what} is in the log of {quote(source)} too, expected a name each"
            self._of_logs[path] = Clash((*path, "name"), message)

    def clashes(self) -> Iterator[Clash]:
        """Yield names that two jobs have; those of logs are known once all jobs were noticed."""
        for name, path in self._listed.items():
            maker = self._maker(name)
            if maker is not None:
                message = f"found the job {quote(name)}, as the source {quote(maker)} calls one of "
                yield Clash((*path, "name"), f"{message}its own, expected a name each")
        yield from self._of_logs.values()

    def _maker(self, name: str) -> str | None:
        """Return the source that can give *name* to a job by numbering."""
        source, dash, number = name.rpartition("-")
        found = self._numbered.get(source) if dash else None
        if found is None or not (number.isascii() and number.isdigit()) or number[0] == "0":
            return None
        is_within = found.most is None or len(number) <= len(str(found.most))
        return source if is_within and (found.most is None or int(number) <= found.most) else None


def _most_jobs(part: WorkPart, until_ms: int | None) -> int | None:
    """Return how many jobs *part* submits at most; None where chance or other jobs decide."""
    match part:
        case ArrivingWork(arrivals=At() | Every()):
            return expected_jobs(part, until_ms)
        case JobList() | TraceWork():
            return None
        case _:
            return part.jobs_at_most
