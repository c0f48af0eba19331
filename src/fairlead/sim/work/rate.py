"""How much work arrives: so many an hour, or as much as a part of the cluster can do."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import msgspec

from fairlead.sim.work.job_shape import JobShape, mean_resource_time
from fairlead.sim.work.week_pattern import HOUR_MS
from fairlead.sim.work.work_error import Real, WorkError, positive_defects, whole_number_defects


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


def rate_defects(rate: Rate, field: str) -> Iterator[WorkError]:
    """Tell what is wrong with a rate, whatever jobs it is for."""
    match rate:
        case PerHour(arrivals=arrivals):
            yield from positive_defects(arrivals, f"{field}.arrivals")
        case Load(load=load, capacity=capacity):
            yield from positive_defects(load, f"{field}.load")
            yield from whole_number_defects(capacity, f"{field}.capacity", lowest=1)


def load_defects(rate: Rate, shapes: tuple[JobShape, ...], field: str) -> Iterator[WorkError]:
    """Tell why a rate cannot be had from jobs of a mix that is itself without defects."""
    if not isinstance(rate, Load):
        return
    job = mean_resource_time(shapes, rate.resource)
    if job is None:
        yield WorkError(
            field,
            "a load needs the mean of pods and run_ms, but a shape runs for ever or its "
            "tail is too heavy",
            "give it at_most, or give arrivals per hour",
        )
    elif job == 0:
        yield WorkError(
            f"{field}.resource",
            f"found a load of {rate.resource}, which no shape asks for",
            "name what the shapes ask for",
        )
