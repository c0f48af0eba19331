"""How many jobs are expected, against those that come."""

from decimal import Decimal

import pytest

from fairlead.sim.work.arrivals import Arrivals, At, Bursts, Every, Load, PerHour, Poisson
from fairlead.sim.work.description import ArrivingWork, expected_jobs
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Uniform
from fairlead.sim.work.source import make_source

HOUR_MS = 3_600_000
SHAPE = JobShape(requests={"gpu": 1000}, run_ms=HOUR_MS)


def work(arrivals: Arrivals, at_most: int | None = None) -> ArrivingWork:
    return ArrivingWork(
        name="s", queue="q", shapes=(SHAPE,), arrivals=arrivals, jobs_at_most=at_most
    )


TEN_AN_HOUR = PerHour(arrivals=10)
HALF = Load(load=Decimal("0.5"), resource="gpu", capacity=80_000)  # 40 of 80 GPUs, an hour each
EXPECTED: list[tuple[Arrivals, int | None, int | None, int | None]] = [
    # arrivals, at most, until (hours), jobs
    (At(submit_ms=(0, HOUR_MS, 3 * HOUR_MS), jobs=4), None, None, 3 * 4),
    (At(submit_ms=(0, HOUR_MS, 3 * HOUR_MS), jobs=4), None, 3, 2 * 4),
    (Every(interval_ms=HOUR_MS), None, None, None),
    (Every(interval_ms=HOUR_MS), 7, None, 7),
    (Every(interval_ms=HOUR_MS, jobs=5), None, 24, 24 * 5),
    (Every(interval_ms=HOUR_MS, jobs=5), 9, 24, 9),
    (Every(interval_ms=7, from_ms=HOUR_MS, until_ms=HOUR_MS + 15), None, 24, 3),
    (Poisson(rate=TEN_AN_HOUR), None, 24, 240),
    (Poisson(rate=TEN_AN_HOUR, from_ms=20 * HOUR_MS), None, 24, 40),
    (Poisson(rate=TEN_AN_HOUR, from_ms=30 * HOUR_MS), None, 24, 0),
    (Poisson(rate=TEN_AN_HOUR, until_ms=2 * HOUR_MS), None, None, 20),
    (Poisson(rate=HALF), None, 24, 40 * 24),
    (Bursts(rate=TEN_AN_HOUR, jobs=Uniform(at_least=1, at_most=3)), None, 24, 10 * 2 * 24),
    (Bursts(rate=HALF, jobs=5), None, 24, 40 * 24),
]


@pytest.mark.parametrize(("arrivals", "at_most", "until_h", "jobs"), EXPECTED)
def test_jobs_that_are_expected(
    arrivals: Arrivals, at_most: int | None, until_h: int | None, jobs: int | None
) -> None:
    until_ms = None if until_h is None else until_h * HOUR_MS
    assert expected_jobs(work(arrivals, at_most), until_ms) == jobs
    if jobs is None or until_ms is None:
        return
    came = 0
    for job in make_source(work(arrivals, at_most), seed=1).jobs():
        if job.submit_ms >= until_ms:
            break
        came += 1
    # By chance, within a few times the root of the expected number of bursts; else exactly.
    slack = 0.0 if isinstance(arrivals, At | Every) else 5 * (3 * jobs) ** 0.5
    assert abs(came - jobs) <= slack
