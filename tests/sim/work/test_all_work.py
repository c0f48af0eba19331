"""Many sources as one: in order, each as if it were alone, and none made before it is asked for."""

from itertools import islice

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.engine.job import Job
from fairlead.sim.work.arrivals import At, Every, PerHour, Poisson
from fairlead.sim.work.description import ArrivingWork, Backlog
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Exponential
from fairlead.sim.work.source import AllWork, make_source
from tests.scale_examples import scale_examples

SHAPE = JobShape(requests={"gpu": 1}, run_ms=Exponential(mean=1_000))
A = ArrivingWork(name="a", queue="q", shapes=(SHAPE,), arrivals=At(submit_ms=(0, 10, 10)))
B = msgspec.structs.replace(A, name="b", arrivals=Every(interval_ms=5))
BACKLOG = Backlog(name="backlog", queue="q", shapes=(SHAPE,), jobs=2)


def jobs_of(*works: ArrivingWork | Backlog, count: int) -> list[Job]:
    return list(islice(AllWork([make_source(work, 1) for work in works]).jobs(), count))


def test_at_one_time_the_earlier_source_comes_first() -> None:
    told = [(job.submit_ms, job.name) for job in jobs_of(B, A, count=7)]
    assert told == [
        (0, "b-1"),
        (0, "a-1"),
        (5, "b-2"),
        (10, "b-3"),
        (10, "a-2"),
        (10, "a-3"),
        (15, "b-4"),
    ]


@settings(max_examples=scale_examples(30))
@given(
    rates=st.lists(st.integers(1, 100), min_size=1, max_size=5),
    seed=st.integers(0, 1_000),
)
def test_merging_equals_sorting_all(rates: list[int], seed: int) -> None:
    hour_ms = 3_600_000
    sources = [
        make_source(
            msgspec.structs.replace(
                A,
                name=f"s{place}",
                arrivals=Poisson(rate=PerHour(arrivals=rate), until_ms=hour_ms),
            ),
            seed,
        )
        for place, rate in enumerate(rates)
    ]
    plain = [job for source in sources for job in source.jobs()]
    plain.sort(key=lambda job: job.submit_ms)  # the order of sources and numbers stays
    assert list(AllWork(sources).jobs()) == plain


@settings(max_examples=scale_examples(30))
@given(mean=st.integers(1, 10**9), rate=st.integers(1, 1_000), name=st.text(min_size=1))
def test_another_source_and_its_settings_change_nothing_about_this_one(
    mean: int, rate: int, name: str
) -> None:
    mine = msgspec.structs.replace(A, name="mine", arrivals=Poisson(rate=PerHour(arrivals=60)))
    alone = jobs_of(mine, count=10)
    other = ArrivingWork(
        name=f"other {name}",
        queue="elsewhere",
        shapes=(JobShape(requests={"cpu": 1}, run_ms=Exponential(mean=mean)),),
        arrivals=Poisson(rate=PerHour(arrivals=rate), until_ms=60_000),
    )
    together = [job for job in jobs_of(other, mine, count=200) if job.kind == "mine"]
    assert together[:10] == alone


def test_jobs_are_made_when_they_are_asked_for() -> None:
    """Sources without an end would otherwise never give their first job."""
    assert len(jobs_of(B, msgspec.structs.replace(B, name="c"), count=3)) == 3


def test_each_source_hears_of_its_own_jobs() -> None:
    work = AllWork([make_source(A, 1), make_source(BACKLOG, 1)])
    jobs = {job.name: job for job in work.jobs()}
    assert list(jobs) == ["a-1", "backlog-1", "backlog-2", "a-2", "a-3"]
    assert [job.name for job in work.on_started(jobs["backlog-1"], 3)] == ["backlog-3"]
    assert list(work.on_finished(jobs["backlog-1"], 4)) == []
    assert list(work.on_started(jobs["a-1"], 5)) == []
    assert list(work.on_finished(jobs["a-1"], 6)) == []
