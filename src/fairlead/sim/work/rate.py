"""How much work arrives: so many jobs an hour, or a share of the cluster, over the hours of a week.

The time until the next arrival is drawn as a number of *expected arrivals* that pass until then,
which has the same distribution by day and by night. A week is a table of how many are expected
until each of its hours; looking up a number in it gives the time. All of it is in whole numbers, so
nothing drifts over months.
"""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Annotated, Final, TypeAlias

import msgspec

from fairlead.sim.fields import AS_FACTOR, INTERNAL, says
from fairlead.sim.work.job_shape import JobShape, mean_resource_time
from fairlead.sim.work.number import ONE, Real

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
