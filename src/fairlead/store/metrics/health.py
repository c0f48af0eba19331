"""Metrics of our own about what the other numbers rest on: whether it is there, and how old."""

from decimal import Decimal

from fairlead.store.metrics.family import Family, single


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
        "How long ago it was last recorded what queues hold",
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
