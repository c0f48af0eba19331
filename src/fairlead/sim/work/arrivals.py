"""When jobs are submitted, and how many: at given times, again and again, or by chance.

Chance has a rate: so many jobs an hour, or a share of the cluster, over the hours of a week. The
time until the next arrival is drawn as a number of *expected arrivals* that pass until then, which
has the same distribution by day and by night. A week is a table of how many are expected until each
of its hours; looking up a number in it gives the time. All of it is in whole numbers, so nothing
drifts over months.
"""

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate, count, repeat
from math import lcm
from random import Random
from typing import Annotated, Final, TypeAlias

import msgspec

from fairlead.sim.fields import AS_FACTOR, INTERNAL, DurationMs, Positive, PositiveMs, says
from fairlead.sim.work.job_shape import JobShape, mean_resource_time
from fairlead.sim.work.number import ONE, Number, Real, Uniform, drawing, mean_number, random_stream
from fairlead.sim.work.portable_math import log

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
WEEK_MS: Final = 7 * DAY_MS
_HOURS: Final = 7 * 24

FINENESS: Final = 2**40
"""Arrivals that are expected are counted in parts of one, so fine that no millisecond is missed."""


class WeekPattern(msgspec.Struct, frozen=True, kw_only=True):
    """How busy hours and days are against each other; the mean over a week stays what it is.

    The weight of an hour is that of its hour of the day times that of its day. Time has no zone:
    the simulation starts on the given day at the given hour.
    """

    by_hour: Annotated[
        tuple[Annotated[Real, AS_FACTOR], ...], says("24 numbers, from midnight UTC.")
    ] = (ONE,) * 24
    by_weekday: Annotated[
        tuple[Annotated[Real, AS_FACTOR], ...], says("7 numbers, from Monday.")
    ] = (ONE,) * 7
    start_weekday: Annotated[int, INTERNAL] = 0  # 0: Monday
    start_hour: Annotated[int, INTERNAL] = 0


class WeekTable:
    """How many arrivals are expected until any time, and when so many are."""

    def __init__(self, per_hour: Fraction, pattern: WeekPattern) -> None:
        """Spread *per_hour*, a mean over the week, as the pattern says. Cost: 168 hours."""
        weights = [
            Fraction(hour) * Fraction(day) for day in pattern.by_weekday for hour in pattern.by_hour
        ]
        per_weight = per_hour * _HOURS / sum(weights) / HOUR_MS * FINENESS
        rates = [weight * per_weight for weight in weights]
        self.unit = lcm(*(rate.denominator for rate in rates))  # makes every rate whole
        self._per_ms = [int(rate * self.unit) for rate in rates]
        self._until_hour = [0, *accumulate(rate * HOUR_MS for rate in self._per_ms)]
        self._start_ms = pattern.start_weekday * DAY_MS + pattern.start_hour * HOUR_MS

    def expected_until(self, at_ms: int) -> int:
        """The number of arrivals expected until *at_ms*, in parts: one is FINENESS * unit."""
        weeks, in_week_ms = divmod(at_ms + self._start_ms, WEEK_MS)
        hour, in_hour_ms = divmod(in_week_ms, HOUR_MS)
        in_week = self._until_hour[hour] + in_hour_ms * self._per_ms[hour]
        return weeks * self._until_hour[-1] + in_week

    def time_of(self, expected: int) -> int:
        """The millisecond in which so many are expected, in the same parts.

        Law: ``expected_until(t) <= expected < expected_until(t + 1)``; so it is never within an
        hour without arrivals. Cost: O(log 168).
        """
        weeks, in_week = divmod(expected, self._until_hour[-1])
        hour = bisect_right(self._until_hour, in_week) - 1
        in_hour_ms = (in_week - self._until_hour[hour]) // self._per_ms[hour]
        return weeks * WEEK_MS + hour * HOUR_MS + in_hour_ms - self._start_ms


class PerHour(msgspec.Struct, frozen=True, kw_only=True, tag="per-hour"):
    """So many arrivals an hour, on average over a week."""

    arrivals: Real


class Load(msgspec.Struct, frozen=True, kw_only=True, tag="load"):
    """So much work that a load of 1 would keep all of a resource busy, on average."""

    load: Real
    resource: str
    capacity: int  # of the cluster, or of the part of it that is meant; in base units


Rate: TypeAlias = PerHour | Load


def arrivals_per_hour(
    rate: Rate, shapes: tuple[JobShape, ...], jobs_per_arrival: Fraction | None = Fraction(1)
) -> Fraction | None:
    """How many arrivals an hour make up *rate*, each of so many jobs of the mix on average.

    load * capacity * one hour / (mean resource-time of a job * jobs of an arrival), exactly. None:
    a load needs means, and there is none, or none of the resource is used.
    """
    match rate:
        case PerHour(arrivals=arrivals):
            return Fraction(arrivals)
        case Load(load=load, resource=resource, capacity=capacity):
            job = mean_resource_time(shapes, resource)
            if not job or not jobs_per_arrival:
                return None
            return Fraction(load) * capacity * HOUR_MS / (job * jobs_per_arrival)


FEWEST_JOBS: Final = 1  # that come at once


class At(msgspec.Struct, frozen=True, kw_only=True, tag="at"):
    """So many jobs at each of these times."""

    submit_ms: Annotated[tuple[DurationMs, ...], says("Since the start.", "times")]
    jobs: Positive = 1


class Every(msgspec.Struct, frozen=True, kw_only=True, tag="every"):
    """So many jobs again and again."""

    interval_ms: PositiveMs
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
