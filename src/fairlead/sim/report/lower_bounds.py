"""Waits in which jobs that never started count too, with the age that they had at the end.

A side that leaves its hardest jobs unstarted has short waits of those that started. With their ages
a wait is at least so long, and a job that starts sooner never makes it longer.
"""

from typing import Final

STARTED_ONLY: Final = "wait/"
AT_LEAST: Final = "wait_at_least/"
UNSTARTED: Final = "unstarted/jobs"


def bound_of(measure: str) -> str | None:
    """Return the lower bound that stands in for *measure* where jobs never started, if any."""
    if not measure.startswith(STARTED_ONLY):
        return None
    return AT_LEAST + measure.removeprefix(STARTED_ONLY)
