"""When jobs are submitted: at given times, again and again, or by chance."""

from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, repeat
from random import Random
from typing import Annotated, Final, TypeAlias

import msgspec

from fairlead.sim.fields import DurationMs, Positive, says
from fairlead.sim.work.draw_number import drawing, random_stream
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.mean_number import mean_number
from fairlead.sim.work.number import Number, Uniform
from fairlead.sim.work.portable_math import log
from fairlead.sim.work.rate import (
    FINENESS,
    Rate,
    WeekPattern,
    WeekTable,
    arrivals_per_hour,
)

FEWEST_JOBS: Final = 1  # that come at once


class At(msgspec.Struct, frozen=True, kw_only=True, tag="at"):
    """So many jobs at each of these times."""

    submit_ms: Annotated[tuple[DurationMs, ...], says("Since the start.", "times")]
    jobs: Positive = 1


class Every(msgspec.Struct, frozen=True, kw_only=True, tag="every"):
    """So many jobs again and again."""

    interval_ms: DurationMs
    jobs: Positive = 1
    jitter_ms: Annotated[DurationMs, says("Each comes up to so much late.")] = 0
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None  # the last time is before it


class Poisson(msgspec.Struct, frozen=True, kw_only=True, tag="poisson"):
    """Jobs that know nothing of each other; more of them in the busy hours of a pattern."""

    rate: Rate
    pattern: WeekPattern = WeekPattern()
    from_ms: int = 0
    until_ms: int | None = None


class Bursts(msgspec.Struct, frozen=True, kw_only=True, tag="bursts"):
    """Many jobs at once, at times that know nothing of each other; the rate is that of bursts."""

    rate: Rate
    jobs: Number  # of a burst
    spread_ms: int = 0  # each comes up to so much after the burst began
    pattern: WeekPattern = WeekPattern()
    from_ms: int = 0
    until_ms: int | None = None  # the last burst begins before it


Arrivals: TypeAlias = At | Every | Poisson | Bursts


def arrival_times(
    arrivals: Arrivals, shapes: tuple[JobShape, ...], seed: int, source: str
) -> Iterator[int]:
    """Yield the time of each submission in milliseconds, in order, for as long as there are any.

    Only the arguments decide. Memory is bounded by the jobs of bursts that overlap.
    """
    chance = random_stream(seed, source, "arrivals")
    lateness = random_stream(seed, source, "lateness")
    match arrivals:
        case At(submit_ms=times, jobs=jobs):
            return (at_ms for at_ms in sorted(times) for _ in range(jobs))
        case Every(jobs=jobs, jitter_ms=jitter_ms):
            return _spread(zip(_regular(arrivals), repeat(jobs)), jitter_ms, lateness)
        case Poisson():
            return _by_chance(arrivals, arrivals_an_hour(arrivals, shapes), chance)
        case Bursts(jobs=several, spread_ms=spread_ms):
            draw = drawing(several, random_stream(seed, source, "burst"), lowest=FEWEST_JOBS)
            begins = _by_chance(arrivals, arrivals_an_hour(arrivals, shapes), chance)
            return _spread(((at_ms, draw()) for at_ms in begins), spread_ms, lateness)


def arrivals_an_hour(arrivals: Poisson | Bursts, shapes: tuple[JobShape, ...]) -> Fraction:
    """Return how many arrivals there are an hour, on average over a week."""
    jobs: Number = arrivals.jobs if isinstance(arrivals, Bursts) else 1
    found = arrivals_per_hour(arrivals.rate, shapes, mean_number(jobs, lowest=FEWEST_JOBS))
    assert found is not None  # work_defects reports it
    return found


def _regular(every: Every) -> Iterator[int]:
    if every.until_ms is None:
        return count(every.from_ms, every.interval_ms)
    return iter(range(every.from_ms, every.until_ms, every.interval_ms))


def _by_chance(arrivals: Poisson | Bursts, per_hour: Fraction, stream: Random) -> Iterator[int]:
    table = WeekTable(per_hour, arrivals.pattern)
    expected = table.expected_until(arrivals.from_ms)
    until_ms = arrivals.until_ms
    while True:
        expected += round(-log(1.0 - stream.random()) * FINENESS) * table.unit
        at_ms = table.time_of(expected)
        if until_ms is not None and at_ms >= until_ms:
            return
        yield at_ms


def _spread(batches: Iterator[tuple[int, int]], spread_ms: int, stream: Random) -> Iterator[int]:
    """Yield a time for each job of each batch, all in order though batches may overlap."""
    draw = drawing(Uniform(at_least=0, at_most=spread_ms), stream, lowest=0)
    ahead: list[int] = []
    for at_ms, jobs in batches:
        # Nothing can come any more before the batch that begins now.
        while ahead and ahead[0] <= at_ms:
            yield heappop(ahead)
        for _ in range(jobs):
            heappush(ahead, at_ms + draw())
    while ahead:
        yield heappop(ahead)
