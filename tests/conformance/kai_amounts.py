"""Reads amounts of ``kai-oracle/1`` cases into the base units of the policy."""

from collections.abc import Mapping
from typing import Any

from fairlead.model.axes import Amounts, Axis, Limits, QuotaAxes
from fairlead.model.quantity import scale_of
from tests.conformance.kai_division import exact_number

Json = dict[str, Any]

RESOURCES = ("cpu", "memory", "gpu")
AXES = QuotaAxes([Axis(resource) for resource in RESOURCES])


def base_units(number: object, resource: str) -> int:
    """The recorded number in base units: it counts devices, millicores and bytes."""
    recorded_in = 1 if resource == "cpu" else scale_of(resource)
    amount = exact_number(number) * recorded_in
    if amount.denominator != 1:
        raise ValueError(f"{number} of {resource} is finer than the base unit")
    return int(amount)


def request(row: Mapping[str, Any]) -> Amounts:
    """What one pod, or one victim, asks for on the axes; not listed is 0."""
    return tuple(base_units(row.get(resource, 0), resource) for resource in RESOURCES)


def amounts(queue: Json, key: str) -> Amounts:
    """One number of a queue per axis; a resource that is not listed has 0."""
    return tuple(
        base_units(queue[resource][key], resource) if resource in queue else 0
        for resource in RESOURCES
    )


def limits(queue: Json, key: str, *, absent: int | None) -> Limits:
    """The same for a number that may have no limit; *absent* is for resources not listed."""
    return tuple(
        absent
        if resource not in queue
        else None
        if (number := queue[resource][key]) is None
        else base_units(number, resource)
        for resource in RESOURCES
    )


def next_job(job: Json | None) -> Amounts:
    """What would start next: up to the gang's minimum at once, one pod at or above it."""
    if job is None:
        return AXES.zero
    below = job["minMember"] - job["running"]
    count = min(job["pending"], max(1, below))
    return tuple(count * amount for amount in request(job["pod"]))
