"""What a scenario says about a source of work, its defects, and how many jobs it will have."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import cycle
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.sim.work.arrivals import (
    Arrivals,
    At,
    Bursts,
    Every,
    Poisson,
    arrival_defects,
    arrivals_an_hour,
)
from fairlead.sim.work.job_shape import JobShape, mix_defects
from fairlead.sim.work.mean_number import mean_number
from fairlead.sim.work.number import count_defects, picking, weight_defects
from fairlead.sim.work.rate import HOUR_MS
from fairlead.sim.work.work_error import Real, WorkError, span_defects, whole_number_defects


class Drawn(msgspec.Struct, frozen=True, kw_only=True, tag="drawn"):
    """Each job draws a name by weight."""

    names: tuple[tuple[str, Real], ...]


class InTurn(msgspec.Struct, frozen=True, kw_only=True, tag="in-turn"):
    """The first job has the first name, and so on around."""

    names: tuple[str, ...]


Names: TypeAlias = str | Drawn | InTurn


def naming(names: Names, stream: Random) -> Callable[[], str]:
    """Return a function that gives the name of the next job, each time it is called."""
    match names:
        case str():
            return lambda: names
        case Drawn(names=weighted):
            return picking(
                [name for name, _ in weighted], [weight for _, weight in weighted], stream
            )
        case InTurn(names=listed):
            around = cycle(listed)
            return lambda: next(around)


def name_defects(names: Names, field: str) -> Iterator[WorkError]:
    """Yield why no name can be drawn."""
    match names:
        case Drawn(names=weighted):
            yield from weight_defects([weight for _, weight in weighted], f"{field}.names")
        case InTurn(names=()):
            yield WorkError(f"{field}.names", "found no name, expected one or more", "add one")


class ArrivingWork(msgspec.Struct, frozen=True, kw_only=True, tag="arriving"):
    """Jobs that are submitted whatever becomes of the others."""

    name: str  # of the source; its jobs are called after it
    queue: Names
    user: Names = ""
    shapes: tuple[JobShape, ...]
    arrivals: Arrivals
    jobs_at_most: int | None = None


class Backlog(msgspec.Struct, frozen=True, kw_only=True, tag="backlog"):
    """Work without end for one queue: when there is too little of it, there comes more."""

    name: str
    queue: str
    user: Names = ""
    shapes: tuple[JobShape, ...]
    keep: Literal["waiting", "alive"] = "waiting"  # alive: waiting or running
    jobs: int  # so many
    from_ms: int = 0
    until_ms: int | None = None  # no job is submitted then or later
    jobs_at_most: int | None = None


WorkDescription: TypeAlias = ArrivingWork | Backlog


def work_defects(work: WorkDescription) -> Iterator[WorkError]:
    """Yield everything that is wrong with a description, field by field."""
    if not work.name:
        yield WorkError("name", "found no name, expected one", "write one")
    yield from name_defects(work.queue, "queue")
    yield from name_defects(work.user, "user")
    yield from mix_defects(work.shapes, "shapes")
    match work:
        case ArrivingWork(arrivals=arrivals):
            yield from arrival_defects(arrivals, work.shapes, "arrivals")
        case Backlog():
            yield from count_defects(work.jobs, "jobs", lowest=1)
            yield from span_defects(work.from_ms, work.until_ms, "")
    if work.jobs_at_most is not None:
        yield from whole_number_defects(work.jobs_at_most, "jobs_at_most", lowest=0)


MOST_JOBS: Final = 100_000_000
"""Of one scenario. A month of the busiest clusters has a few million; so many take days to run."""


def expected_jobs(work: ArrivingWork, until_ms: int | None) -> int | None:
    """Return how many jobs *work* submits until then, by its mean where chance decides.

    *work* has no defects. None: it goes on for ever. Cost: none to speak of.
    """
    count = _expected(work.arrivals, work.shapes, until_ms)
    if work.jobs_at_most is None or (count is not None and count <= work.jobs_at_most):
        return count
    return work.jobs_at_most


def _expected(arrivals: Arrivals, shapes: tuple[JobShape, ...], until_ms: int | None) -> int | None:
    if isinstance(arrivals, At):
        times = arrivals.submit_ms
        return arrivals.jobs * sum(until_ms is None or at_ms < until_ms for at_ms in times)
    ends_ms = [each for each in (arrivals.until_ms, until_ms) if each is not None]
    if not ends_ms:
        return None
    span_ms = max(0, min(ends_ms) - arrivals.from_ms)
    match arrivals:
        case Every(interval_ms=interval_ms, jobs=jobs):
            return -(-span_ms // interval_ms) * jobs
        case Poisson():
            return int(arrivals_an_hour(arrivals, shapes) * span_ms / HOUR_MS)
        case Bursts(jobs=several):
            jobs_each = mean_number(several, lowest=1) or Fraction(1)
            return int(arrivals_an_hour(arrivals, shapes) * jobs_each * span_ms / HOUR_MS)
