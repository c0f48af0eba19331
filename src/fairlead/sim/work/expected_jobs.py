"""How many jobs a source would submit, before any of them is made.

A slip of the pen, such as a capacity in bytes where devices were meant, makes a load of more jobs
than can ever be simulated. Nobody would see that from a run that does not come to an end.
"""

from fractions import Fraction
from typing import Final

from fairlead.sim.work.arrivals import Arrivals, At, Bursts, Every, Poisson, arrivals_an_hour
from fairlead.sim.work.description import ArrivingWork
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.mean_number import mean_number
from fairlead.sim.work.week_pattern import HOUR_MS

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
