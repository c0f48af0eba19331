"""The jobs of a source: as described, as numbered, and moved by nothing but their own settings."""

import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlead
from fairlead.sim.engine.job import Job
from fairlead.sim.work.arrivals import At, Bursts, Every, Load, PerHour, Poisson, WeekPattern
from fairlead.sim.work.description import ArrivingWork, Drawn, InTurn, WorkDescription
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Empirical, Exponential, Lognormal, Uniform
from fairlead.sim.work.source import make_source
from tests.scale_examples import scale_examples

HOUR = 3_600_000


def first(work: WorkDescription, count: int, seed: int = 1) -> list[Job]:
    return list(islice(make_source(work, seed).jobs(), count))


TRAINING = ArrivingWork(
    name="training",
    queue=Drawn(names=(("vision", 3), ("speech", 1))),
    user=Drawn(names=(("ann", 1), ("bob", Decimal("0.5")))),
    shapes=(
        JobShape(
            requests={"gpu": 1_000},
            run_ms=Lognormal(median=2 * HOUR, sigma=Decimal("1.5"), at_most=48 * HOUR),
            weight=Decimal("0.8"),
        ),
        JobShape(
            pods=Empirical(values=((2, 4), (4, 2), (8, 1))),
            requests={"gpu": 1_000},
            run_ms=Exponential(mean=8 * HOUR, at_least=60_000),
            weight=Decimal("0.2"),
        ),
    ),
    arrivals=Poisson(
        rate=Load(load=Decimal("1.1"), resource="gpu", capacity=64_000),
        pattern=WeekPattern(
            by_hour=(1,) * 8 + (3,) * 10 + (1,) * 6, by_weekday=(2,) * 5 + (1,) * 2
        ),
    ),
)

GOLDEN = """
    name        queue   user  submit_ms  run_ms    pods
    training-1  speech  bob   1091830    20982307  2
    training-2  vision  bob   2646530    12439769  8
    training-3  vision  ann   3679234    13952176  1
    training-4  speech  ann   3897037    2465508   1
    training-5  vision  ann   4473335    4731745   1
"""


def as_text(jobs: list[Job]) -> str:
    columns = "name queue user submit_ms run_ms pods".split()
    rows = [" ".join(str(getattr(job, column)) for column in columns) for job in jobs]
    return "\n".join([" ".join(columns), *rows])


def test_the_first_jobs_are_these_on_every_machine_and_python() -> None:
    expected = [line.split() for line in GOLDEN.strip().splitlines()]
    assert [
        line.split() for line in as_text(first(TRAINING, 5, seed=2059)).splitlines()
    ] == expected


PRINT_JOBS = """
from tests.sim.work.test_source import TRAINING, as_text, first
print(as_text(first(TRAINING, 200, seed=3)))
"""


@pytest.mark.parametrize(
    ("hash_seed", "zone", "locale"),
    [("0", "UTC", "C"), ("12345", "Pacific/Kiritimati", "de_DE.UTF-8")],
)
def test_hash_seed_time_zone_and_locale_change_nothing(
    hash_seed: str, zone: str, locale: str
) -> None:
    root = Path(__file__).parents[3]
    source = Path(fairlead.__file__).parents[1]
    told = {
        "PYTHONHASHSEED": hash_seed,
        "TZ": zone,
        "LC_ALL": locale,
        "PYTHONPATH": f"{root}{os.pathsep}{source}",
    }
    done = subprocess.run(
        [sys.executable, "-c", PRINT_JOBS],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == as_text(first(TRAINING, 200, seed=3))


def test_a_job_is_what_its_shape_says() -> None:
    shape = JobShape(
        pods=4,
        min_pods=2,
        requests={"gpu": 500, "cpu": 2_000},
        run_ms=60_000,
        asked_ms=90_000,
        priority=7,
        preemptible=False,
        checkpoint_ms=0,
        node_labels={"gpu": "a100"},
    )
    work = ArrivingWork(
        name="fit", queue="q", user="ann", shapes=(shape,), arrivals=At(submit_ms=(5,))
    )
    assert first(work, 9) == [
        Job(
            name="fit-1",
            queue="q",
            user="ann",
            kind="fit",
            submit_ms=5,
            run_ms=60_000,
            pods=4,
            min_pods=2,
            requests={"gpu": 500, "cpu": 2_000},
            priority=7,
            preemptible=False,
            checkpoint_ms=0,
            asked_ms=90_000,
            node_labels={"gpu": "a100"},
        )
    ]


def simple(**changes: object) -> ArrivingWork:
    shape = JobShape(requests={"gpu": 1}, run_ms=1_000)
    work = ArrivingWork(name="s", queue="q", shapes=(shape,), arrivals=Every(interval_ms=1_000))
    return msgspec.structs.replace(work, **changes)


def test_names_count_from_one_without_zeros_before_them() -> None:
    names = [job.name for job in first(simple(), 12)]
    assert names[0] == "s-1"
    assert names[-1] == "s-12"


def test_a_shape_without_a_lowest_number_of_pods_is_a_gang() -> None:
    shape = JobShape(pods=Uniform(at_least=2, at_most=5), requests={"gpu": 1}, run_ms=None)
    jobs = first(simple(shapes=(shape,)), 40)
    assert {job.pods for job in jobs} == {2, 3, 4, 5}
    assert all(job.min_pods == job.pods for job in jobs)
    assert all(job.run_ms is None for job in jobs)


def test_a_job_runs_for_a_millisecond_and_has_its_lowest_number_of_pods_at_least() -> None:
    shape = JobShape(
        pods=Exponential(mean=3, at_most=9),
        min_pods=2,
        requests={"gpu": 1},
        run_ms=Exponential(mean=1),
    )
    jobs = first(simple(shapes=(shape,)), 200)
    assert min(job.run_ms or 0 for job in jobs) == 1
    assert min(job.pods for job in jobs) == 2
    assert {job.min_pods for job in jobs} == {2}


def test_queues_in_turn_and_users_by_weight() -> None:
    users = Drawn(names=(("ann", 3), ("bob", 1), ("eve", 0)))
    jobs = first(simple(queue=InTurn(names=("a", "b", "c")), user=users), 3_000)
    assert [job.queue for job in jobs[:5]] == ["a", "b", "c", "a", "b"]
    counts = Counter(job.user for job in jobs)
    assert set(counts) == {"ann", "bob"}
    assert abs(counts["ann"] - 2_250) < 75  # three of the spread, sqrt(3,000 * 3/4 * 1/4) = 24


def test_a_mix_comes_by_weight() -> None:
    """80 % single, 20 % gangs: of 5,000 jobs 1,000, spread sqrt(5,000 * 0.8 * 0.2) = 28."""
    single = JobShape(requests={"gpu": 1}, run_ms=1, weight=80)
    gang = JobShape(pods=8, requests={"gpu": 1}, run_ms=1, weight=20)
    jobs = first(simple(shapes=(single, gang)), 5_000)
    assert abs(sum(job.pods == 8 for job in jobs) - 1_000) < 85


def test_there_are_at_most_so_many_jobs() -> None:
    assert len(first(simple(jobs_at_most=7), 100)) == 7
    assert first(simple(jobs_at_most=0), 100) == []


@settings(max_examples=scale_examples(25))
@given(seed=st.integers(), name=st.text(min_size=1, max_size=8))
def test_the_same_seed_gives_the_same_jobs_and_another_gives_others(seed: int, name: str) -> None:
    work = msgspec.structs.replace(TRAINING, name=name)
    source = make_source(work, seed)
    jobs = list(islice(source.jobs(), 20))
    assert jobs == list(islice(source.jobs(), 20))
    assert jobs == first(work, 20, seed)
    assert [job.submit_ms for job in jobs] != [job.submit_ms for job in first(work, 20, seed + 1)]


def column(work: ArrivingWork, name: str) -> list[object]:
    return [getattr(job, name) for job in first(work, 100)]


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        ({"user": InTurn(names=("x", "y"))}, {"user"}),
        ({"queue": "one"}, {"queue"}),
        ({"arrivals": Poisson(rate=PerHour(arrivals=100))}, {"submit_ms"}),
        ({"arrivals": Bursts(rate=PerHour(arrivals=9), jobs=4)}, {"submit_ms"}),
    ],
)
def test_a_setting_moves_only_what_it_is_about(changed: dict[str, object], moved: set[str]) -> None:
    other = msgspec.structs.replace(TRAINING, **changed)
    columns = {"queue", "user", "submit_ms", "run_ms", "pods"}
    assert {name for name in columns if column(other, name) != column(TRAINING, name)} == moved


def test_the_run_time_of_one_shape_moves_no_other() -> None:
    """Only the gangs, whose run time is another now, change; the rate is told, not derived."""
    fixed = msgspec.structs.replace(TRAINING, arrivals=Poisson(rate=PerHour(arrivals=9)))
    single, gang = fixed.shapes
    other = msgspec.structs.replace(
        fixed, shapes=(single, msgspec.structs.replace(gang, run_ms=Lognormal(mean=HOUR, sigma=1)))
    )
    differing = [
        (before.pods, after.pods)
        for before, after in zip(first(fixed, 200), first(other, 200), strict=True)
        if before != after
    ]
    assert differing
    assert all(before == after and before > 1 for before, after in differing)
