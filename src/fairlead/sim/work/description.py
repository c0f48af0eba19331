"""What a scenario says about a source of work, and how many jobs it will have."""

from collections.abc import Callable
from fractions import Fraction
from itertools import cycle
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.sim.work.arrivals import (
    HOUR_MS,
    Arrivals,
    At,
    Bursts,
    Every,
    Poisson,
    arrivals_an_hour,
)
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Real, mean_number, picking


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
