"""Metrics before they become text: families with exact values.

What describes a state is a gauge: reading objects observes no events, and a counter that never
counts would be wrong. Counters and histograms are of a live scheduler.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.model.quantity import scale_of

UNLIMITED: Final = Decimal("Infinity")

Sample: TypeAlias = tuple[tuple[str, ...], Decimal]
"""The values of the family's labels, in their order, and the number."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """All samples of one name. No two of them have the same labels."""

    name: str
    meaning: str
    kind: Literal["gauge", "counter"] = "gauge"
    labels: tuple[str, ...] = ()
    samples: tuple[Sample, ...]


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """How often values of up to each bound were seen; the last bound is infinite.

    ``counts`` has those that no smaller bound has, ``total`` is the sum of all values.
    """

    name: str
    meaning: str
    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


def in_units(resource: str, amount: int) -> Decimal:
    """Base units as the whole unit that users count in: cores, devices, bytes; exact."""
    return Decimal(amount) / scale_of(resource)


def single(name: str, meaning: str, value: Decimal | int) -> Family:
    """A family of one number about everything, without labels."""
    return Family(name=name, meaning=meaning, samples=(((), Decimal(value)),))


def usage_store_families(*, age_ms: int | None, is_degraded: bool) -> list[Family]:
    """Tell how old the record of use is (None: there is none), and whether all is well.

    An age that is not known is left out: 0 would say that all is well.
    """
    degraded = single(
        "fairlead_usage_store_degraded",
        "1 while past use cannot be read, is stale or lacks a resource; else 0",
        int(is_degraded),
    )
    if age_ms is None:
        return [degraded]
    staleness = single(
        "fairlead_usage_store_staleness_seconds",
        "Age of the last observation of what queues hold",
        Decimal(age_ms) / 1000,
    )
    return [staleness, degraded]


def input_errors_family(count: int) -> Family:
    """Tell how many errors the last reading of the input found; the rest is then of before."""
    return single(
        "fairlead_input_errors",
        "Errors in the input when it was last read; above 0 all else is what it said before",
        count,
    )
