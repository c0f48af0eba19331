"""A load is as much work as a part of the cluster can do."""

from decimal import Decimal
from fractions import Fraction

import pytest

from fairlead.sim.work.arrivals import (
    HOUR_MS,
    WEEK_MS,
    Arrivals,
    Bursts,
    Load,
    PerHour,
    Poisson,
    WeekPattern,
    arrivals_per_hour,
)
from fairlead.sim.work.description import ArrivingWork
from fairlead.sim.work.job_shape import JobShape, mean_resource_time
from fairlead.sim.work.number import Empirical, Lognormal, Number, Pareto, Uniform
from fairlead.sim.work.source import make_source

SINGLE = JobShape(requests={"gpu": 1_000, "cpu": 4_000}, run_ms=HOUR_MS, weight=80)
GANG = JobShape(pods=8, requests={"gpu": 1_000}, run_ms=3 * HOUR_MS, weight=20)
LOAD = Load(load=Decimal("1.1"), resource="gpu", capacity=64_000)


@pytest.mark.parametrize(
    ("resource", "gpu_hours"),
    [
        ("gpu", "5.6"),  # 0.8 * 1 * 1 h + 0.2 * 8 * 3 h
        ("cpu", "3.2"),  # 0.8 * 4 * 1 h
        ("memory", "0"),
    ],
)
def test_the_mean_use_of_a_mix(resource: str, gpu_hours: str) -> None:
    found = mean_resource_time((SINGLE, GANG), resource)
    assert found == Fraction(gpu_hours) * 1_000 * HOUR_MS


def test_a_load_of_1_and_a_tenth_of_64_gpus() -> None:
    """1.1 * 64 gpus / 5.6 gpu hours a job = 12.571 jobs an hour; in bursts of 4, a quarter."""
    assert arrivals_per_hour(LOAD, (SINGLE, GANG)) == Fraction("70.4") / Fraction("5.6")
    assert arrivals_per_hour(LOAD, (SINGLE, GANG), Fraction(4)) == Fraction("17.6") / Fraction(
        "5.6"
    )


def test_so_many_an_hour_do_not_depend_on_the_jobs() -> None:
    assert arrivals_per_hour(PerHour(arrivals=Decimal("0.5")), (GANG,)) == Fraction(1, 2)


@pytest.mark.parametrize(
    "run_ms",
    [None, Pareto(at_least=1_000, alpha=1)],
)
def test_without_a_mean_there_is_no_load(run_ms: Number | None) -> None:
    endless = JobShape(requests={"gpu": 1_000}, run_ms=run_ms)
    assert mean_resource_time((SINGLE, endless), "gpu") is None
    assert arrivals_per_hour(LOAD, (SINGLE, endless)) is None


def test_a_shape_that_never_comes_needs_no_mean() -> None:
    never = JobShape(requests={"gpu": 1_000}, run_ms=None, weight=0)
    assert mean_resource_time((SINGLE, never), "gpu") == 1_000 * HOUR_MS


MIX = (
    JobShape(
        requests={"gpu": 1_000},
        run_ms=Lognormal(median=HOUR_MS, sigma=1, at_most=12 * HOUR_MS),
        weight=80,
    ),
    JobShape(
        pods=Empirical(values=((2, 4), (4, 2), (8, 1))),
        requests={"gpu": 1_000},
        run_ms=Lognormal(mean=3 * HOUR_MS, sigma=Decimal("1.2"), at_most=24 * HOUR_MS),
        weight=20,
    ),
    JobShape(requests={"cpu": 4_000}, run_ms=None, weight=5),
)


@pytest.mark.parametrize(
    "arrivals",
    [
        Poisson(rate=LOAD, until_ms=20 * WEEK_MS),
        Poisson(
            rate=LOAD,
            pattern=WeekPattern(by_hour=(1,) * 8 + (4,) * 16, by_weekday=(3,) * 5 + (1,) * 2),
            until_ms=20 * WEEK_MS,
        ),
        Bursts(
            rate=LOAD,
            jobs=Uniform(at_least=1, at_most=9),
            spread_ms=HOUR_MS,
            until_ms=20 * WEEK_MS,
        ),
    ],
)
def test_the_work_that_arrives_is_the_load(arrivals: Arrivals) -> None:
    """Some 80,000 jobs in 20 weeks, each with a spread of about twice its mean: 1 % or less.

    Bursts bring the spread of their number with them; 3 % holds all three.
    """
    work = ArrivingWork(name="mix", queue="q", shapes=MIX, arrivals=arrivals)
    used = sum(
        job.pods * job.run_ms * job.requests["gpu"]
        for job in make_source(work, seed=4).jobs()
        if job.run_ms is not None
    )
    assert abs(used / (LOAD.capacity * 20 * WEEK_MS) - 1.1) < 0.033
