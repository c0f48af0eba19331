"""Waits in which jobs that never started count too, with the age that they had at the end.

A side that leaves its hardest jobs unstarted has short waits of those that started. With their ages
a wait is at least so long, and a job that starts sooner never makes it longer.
"""

from collections.abc import Mapping
from typing import Final

from fairlead.sim.measures.summary import Key

STARTED_ONLY: Final = "wait/"
AT_LEAST: Final = "wait_at_least/"
UNSTARTED: Final = "unstarted/jobs"

Values = Mapping[Key, float | None]


def bound_of(measure: str) -> str | None:
    """Return the lower bound that stands in for *measure* where jobs never started, if any."""
    if not measure.startswith(STARTED_ONLY):
        return None
    return AT_LEAST + measure.removeprefix(STARTED_ONLY)


def with_mean_bounds(values: Values) -> Values:
    """Add the bound of each mean wait that a summary of an older result does not have.

    (total wait + total age) / (jobs that started + jobs that did not), which is exact. Quantiles
    cannot be had from sums. Cost: linear.
    """
    found = dict(values)
    for scope, name, measure in values:
        if measure != UNSTARTED:
            continue
        started, started_ms, others, others_ms = (
            values[scope, name, path] or 0
            for path in ("wait/jobs", "wait/total_ms", UNSTARTED, "unstarted/total_age_ms")
        )
        jobs = started + others
        mean_ms = (started_ms + others_ms) / jobs if jobs else None
        found.setdefault((scope, name, f"{AT_LEAST}mean_ms"), mean_ms)
    return found
