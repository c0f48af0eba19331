"""Every contradiction in a description is reported at its field, and nothing else is refused."""

from decimal import Decimal

import msgspec
import pytest

from fairlead.manifest.text.path import path_text
from fairlead.sim.work.arrivals import (
    Arrivals,
    At,
    Bursts,
    Every,
    Load,
    PerHour,
    Poisson,
    WeekPattern,
)
from fairlead.sim.work.defects import way_of, work_defects
from fairlead.sim.work.description import ArrivingWork, Backlog, Drawn, InTurn
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import (
    Empirical,
    Exponential,
    Lognormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
)

SHAPE = JobShape(requests={"gpu": 1_000}, run_ms=1_000)
GOOD = ArrivingWork(name="s", queue="q", shapes=(SHAPE,), arrivals=Every(interval_ms=10))
BACKLOG = Backlog(name="s", queue="q", shapes=(SHAPE,), jobs=2)
RATE = PerHour(arrivals=1)


def reported(work: ArrivingWork | Backlog) -> list[str]:
    return [f"{path_text(each.path)[2:]}: {each.problem}" for each in work_defects(work)]


def with_shape(**changes: object) -> ArrivingWork:
    return msgspec.structs.replace(GOOD, shapes=(msgspec.structs.replace(SHAPE, **changes),))


def test_a_good_description_has_no_defect() -> None:
    assert reported(GOOD) == []
    assert reported(BACKLOG) == []


NUMBERS: list[tuple[Number, str]] = [
    (0, ": found 0s, expected at least 1ms"),
    (Uniform(at_least=5, at_most=4), ".uniform.atMost: found 4ms, expected at least 5ms"),
    (Uniform(at_least=0, at_most=4), ".uniform.atLeast: found 0s, expected at least 1ms"),
    (Exponential(mean=0), ".exponential.mean: found 0s, expected more than 0s"),
    (
        Exponential(mean=1, at_least=9, at_most=8),
        ".exponential.atMost: found 8ms, expected at least 9ms",
    ),
    (Exponential(mean=1, at_most=0), ".exponential.atMost: found 0s, expected at least 1ms"),
    (Lognormal(sigma=1), ": found neither median nor mean, expected one of them"),
    (Lognormal(median=1, mean=1, sigma=1), ": found both median and mean, expected one of them"),
    (Lognormal(median=0, sigma=1), ".lognormal.median: found 0s, expected more than 0s"),
    (Lognormal(mean=1, sigma=11), ".lognormal.sigma: found 11, expected at most 10"),
    (Weibull(scale=0, shape=1), ".weibull.scale: found 0s, expected more than 0s"),
    (Weibull(scale=1, shape=Decimal("0.05")), ".weibull.shape: found 0.05, expected at least 0.1"),
    (Pareto(at_least=0, alpha=1), ".pareto.atLeast: found 0s, expected at least 1ms"),
    (Pareto(at_least=1, alpha=101), ".pareto.alpha: found 101, expected at most 100"),
    (Empirical(values=()), ".values: found nothing to draw from, expected one or more"),
    (Empirical(values=((1, 0),)), ".values: found weights that sum to 0, expected more than 0"),
    (Empirical(values=((5, 1), (0, 1))), ".values[1]: found 0s, expected at least 1ms"),
]


@pytest.mark.parametrize(("number", "problem"), NUMBERS)
def test_numbers_that_cannot_be_drawn(number: Number, problem: str) -> None:
    assert reported(with_shape(run_ms=number)) == [f"shapes[0].run{problem}"]
    assert reported(with_shape(asked_ms=number)) == [f"shapes[0].asked{problem}"]


SHAPES: list[tuple[dict[str, object], str]] = [
    ({"pods": 4, "min_pods": 5}, "shapes[0].pods: found 4, expected at least 5"),
    ({"pods": 1_000_001}, "shapes[0].pods: found 1000001, expected at most 1000000"),
    (
        {"pods": Pareto(at_least=1, alpha=1)},
        "shapes[0].pods: found no atMost, expected one of at most 1000000",
    ),
    (
        {"pods": Uniform(at_least=1, at_most=10**7)},
        "shapes[0].pods.uniform.atMost: found 10000000, expected at most 1000000",
    ),
    (
        {"pods": Empirical(values=((10**7, 1), (1, 1)))},
        "shapes[0].pods.values: found 10000000, expected at most 1000000",
    ),
    (
        {"pods": Exponential(mean=2**53, at_most=7)},
        f"shapes[0].pods.exponential.mean: found {2**53}, expected at most {2**53 - 1}",
    ),
    ({"weight": 0}, "shapes: found weights that sum to 0, expected more than 0"),
]


@pytest.mark.parametrize(("changes", "problem"), SHAPES)
def test_shapes_that_no_job_can_have(changes: dict[str, object], problem: str) -> None:
    assert reported(with_shape(**changes)) == [problem]


ARRIVALS: list[tuple[Arrivals, str]] = [
    (At(submit_ms=()), "at.times: found no times, expected some"),
    (At(submit_ms=(5,), jobs=10**7), "at.jobs: found 10000000, expected at most 1000000"),
    (Every(interval_ms=1, jobs=10**7), "every.jobs: found 10000000, expected at most 1000000"),
    (
        Every(interval_ms=1, from_ms=9, until_ms=9),
        "every.until: found 9ms, expected more than from, 9ms",
    ),
    (
        Poisson(rate=RATE, from_ms=9, until_ms=1),
        "poisson.until: found 1ms, expected more than from, 9ms",
    ),
    (
        Bursts(rate=RATE, jobs=Exponential(mean=2)),
        "bursts.jobs: found no atMost, expected one of at most 1000000",
    ),
]


@pytest.mark.parametrize(("arrivals", "problem"), ARRIVALS)
def test_arrivals_that_never_are(arrivals: Arrivals, problem: str) -> None:
    assert reported(msgspec.structs.replace(GOOD, arrivals=arrivals)) == [f"arrivals.{problem}"]


def test_a_load_of_what_no_shape_asks_for() -> None:
    rate = Load(load=1, resource="tpu", capacity=1)
    problem = ".load: found a load of tpu, which no shape asks for"
    for arrivals in (Poisson(rate=rate), Bursts(rate=rate, jobs=2)):
        work = msgspec.structs.replace(GOOD, arrivals=arrivals)
        assert reported(work) == [f"arrivals.{way_of(arrivals)}{problem}"]


@pytest.mark.parametrize("run_ms", [None, Pareto(at_least=1, alpha=1)])
def test_a_load_needs_a_mean(run_ms: Number | None) -> None:
    load = Poisson(rate=Load(load=1, resource="gpu", capacity=1))
    work = msgspec.structs.replace(with_shape(run_ms=run_ms), arrivals=load)
    [problem] = reported(work)
    assert problem.startswith("arrivals.poisson.load: a load needs the mean of pods and run")


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        ((), "shapes: found nothing to draw from, expected one or more"),
        (
            (msgspec.structs.replace(SHAPE, weight=0),),
            "shapes: found weights that sum to 0, expected more than 0",
        ),
        (
            (msgspec.structs.replace(SHAPE, run_ms=Exponential(mean=0)),),
            "shapes[0].run.exponential.mean: found 0s, expected more than 0s",
        ),
    ],
)
def test_of_shapes_with_defects_no_mean_is_taken(
    shapes: tuple[JobShape, ...], problem: str
) -> None:
    load = Poisson(rate=Load(load=1, resource="gpu", capacity=1))
    assert reported(msgspec.structs.replace(GOOD, shapes=shapes, arrivals=load)) == [problem]


PATTERNS: list[tuple[WeekPattern, str]] = [
    (WeekPattern(by_hour=(1,) * 23), ".byHour: found 23 numbers, expected 24"),
    (WeekPattern(by_weekday=(1,) * 8), ".byWeekday: found 8 numbers, expected 7"),
    (
        WeekPattern(by_weekday=(0,) * 7),
        ".byWeekday: found weights that sum to 0, expected more than 0",
    ),
]


@pytest.mark.parametrize(("pattern", "problem"), PATTERNS)
def test_weeks_that_cannot_be(pattern: WeekPattern, problem: str) -> None:
    work = msgspec.structs.replace(GOOD, arrivals=Poisson(rate=RATE, pattern=pattern))
    assert reported(work) == [f"arrivals.poisson.pattern{problem}"]


REST: list[tuple[ArrivingWork | Backlog, dict[str, object], str]] = [
    (GOOD, {"name": ""}, "name: found no name, expected one"),
    (GOOD, {"queue": InTurn(names=())}, "queue: found no name, expected one or more"),
    (
        GOOD,
        {"user": Drawn(names=(("ann", 0),))},
        "user: found weights that sum to 0, expected more than 0",
    ),
    (BACKLOG, {"jobs": 10**7}, "backlog.jobs: found 10000000, expected at most 1000000"),
    (BACKLOG, {"until_ms": 0}, "backlog.until: found 0s, expected more than from, 0s"),
]


@pytest.mark.parametrize(("work", "changes", "problem"), REST)
def test_sources_that_cannot_be(
    work: ArrivingWork | Backlog, changes: dict[str, object], problem: str
) -> None:
    assert reported(msgspec.structs.replace(work, **changes)) == [problem]


def test_all_defects_are_reported() -> None:
    bad = msgspec.structs.replace(with_shape(pods=10**7, run_ms=0), name="")
    assert [path_text(defect.path) for defect in work_defects(bad)] == [
        "$.name",
        "$.shapes[0].pods",
        "$.shapes[0].run",
    ]


def test_descriptions_survive_being_written_down() -> None:
    work = msgspec.structs.replace(
        GOOD,
        queue=Drawn(names=(("a", Decimal("0.3")), ("b", 1))),
        arrivals=Bursts(
            rate=Load(load=Decimal("1.1"), resource="gpu", capacity=8),
            jobs=Uniform(at_least=1, at_most=3),
        ),
    )
    assert msgspec.convert(msgspec.to_builtins(work), ArrivingWork) == work
