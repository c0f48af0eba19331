"""Every mistake in a description is told with its field, and nothing else is refused."""

from decimal import Decimal

import msgspec
import pytest

from fairlead.errors import FairleadError
from fairlead.sim.work.arrivals import Arrivals, At, Bursts, Every, Poisson
from fairlead.sim.work.description import ArrivingWork, Backlog, Drawn, InTurn, work_defects
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import (
    Empirical,
    Exponential,
    LogNormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
)
from fairlead.sim.work.rate import Load, PerHour, Rate, WeekPattern
from fairlead.sim.work.source import make_source
from fairlead.sim.work.work_error import WorkError

SHAPE = JobShape(requests={"gpu": 1_000}, run_ms=1_000)
GOOD = ArrivingWork(name="s", queue="q", shapes=(SHAPE,), arrivals=Every(interval_ms=10))
BACKLOG = Backlog(name="s", queue="q", shapes=(SHAPE,), jobs=2)
RATE = PerHour(arrivals=1)


def told(work: ArrivingWork | Backlog) -> list[str]:
    return [str(defect) for defect in work_defects(work)]


def with_shape(**changes: object) -> ArrivingWork:
    return msgspec.structs.replace(GOOD, shapes=(msgspec.structs.replace(SHAPE, **changes),))


def test_a_good_description_has_no_defect() -> None:
    assert told(GOOD) == []
    assert told(BACKLOG) == []


NUMBERS: list[tuple[Number, str]] = [
    (0, ": found 0, expected at least 1"),
    (Uniform(at_least=5, at_most=4), ".at_most: found 4, expected at least 5"),
    (Uniform(at_least=0, at_most=4), ".at_least: found 0, expected at least 1"),
    (Exponential(mean=0), ".mean: found 0, expected more than 0"),
    (Exponential(mean=Decimal("NaN")), ".mean: found NaN, expected a number"),
    (Exponential(mean=Decimal("Infinity")), ".mean: found Infinity, expected a number"),
    (Exponential(mean=1, at_least=-1), ".at_least: found -1, expected at least 0"),
    (Exponential(mean=1, at_least=9, at_most=8), ".at_most: found 8, expected at least 9"),
    (Exponential(mean=1, at_most=0), ".at_most: found 0, expected at least 1"),
    (Exponential(mean=2**53), ".mean: found 9007199254740992, expected at most 9007199254740991"),
    (LogNormal(sigma=1), ": found neither median nor mean, expected one of them"),
    (LogNormal(median=1, mean=1, sigma=1), ": found both median and mean, expected one of them"),
    (LogNormal(median=-1, sigma=1), ".median: found -1, expected more than 0"),
    (LogNormal(mean=1, sigma=Decimal("-0.5")), ".sigma: found -0.5, expected more than 0"),
    (LogNormal(mean=1, sigma=11), ".sigma: found 11, expected at most 10"),
    (Weibull(scale=0, shape=1), ".scale: found 0, expected more than 0"),
    (Weibull(scale=1, shape=0), ".shape: found 0, expected more than 0"),
    (Weibull(scale=1, shape=Decimal("0.05")), ".shape: found 0.05, expected at least 0.1"),
    (Pareto(at_least=0, alpha=1), ".at_least: found 0, expected at least 1"),
    (Pareto(at_least=1, alpha=101), ".alpha: found 101, expected at most 100"),
    (Empirical(values=()), ".values: found nothing to draw from, expected one or more"),
    (Empirical(values=((1, 0),)), ".values: found weights that sum to 0, expected more than 0"),
    (Empirical(values=((1, -1),)), ".values: found the weight -1, expected at least 0"),
    (Empirical(values=((5, 1), (0, 1))), ".values[1]: found 0, expected at least 1"),
]


@pytest.mark.parametrize(("number", "problem"), NUMBERS)
def test_numbers_that_cannot_be_drawn(number: Number, problem: str) -> None:
    assert told(with_shape(run_ms=number)) == [f"shapes[0].run_ms{problem}"]
    assert told(with_shape(asked_ms=number)) == [f"shapes[0].asked_ms{problem}"]


@pytest.mark.parametrize("text", ["1E+999999", "1E-999999", "1E+30"])
def test_a_short_text_cannot_make_a_number_without_end(text: str) -> None:
    problem = "expected at most 30 digits on either side of the decimal point"
    huge = Decimal(text)
    assert told(with_shape(run_ms=Exponential(mean=huge))) == [f"shapes[0].run_ms.mean: {problem}"]
    assert told(with_shape(weight=huge)) == [f"shapes.weight: {problem}"]


SHAPES: list[tuple[dict[str, object], str]] = [
    ({"pods": 0}, "shapes[0].pods: found 0, expected at least 1"),
    ({"pods": 4, "min_pods": 5}, "shapes[0].pods: found 4, expected at least 5"),
    ({"min_pods": 0}, "shapes[0].min_pods: found 0, expected at least 1"),
    ({"pods": 1_000_001}, "shapes[0].pods: found 1000001, expected at most 1000000"),
    (
        {"pods": Pareto(at_least=1, alpha=1)},
        "shapes[0].pods: found no at_most, expected one of at most 1000000",
    ),
    (
        {"pods": Uniform(at_least=1, at_most=10**7)},
        "shapes[0].pods.at_most: found 10000000, expected at most 1000000",
    ),
    (
        {"pods": Empirical(values=((10**7, 1), (1, 1)))},
        "shapes[0].pods.values: found 10000000, expected at most 1000000",
    ),
    ({"requests": {"gpu": -1}}, "shapes[0].requests.gpu: found -1, expected at least 0"),
    ({"checkpoint_ms": -1}, "shapes[0].checkpoint_ms: found -1, expected at least 0"),
    ({"weight": 0}, "shapes.weight: found weights that sum to 0, expected more than 0"),
    ({"weight": -2}, "shapes.weight: found the weight -2, expected at least 0"),
]


@pytest.mark.parametrize(("changes", "problem"), SHAPES)
def test_shapes_that_no_job_can_have(changes: dict[str, object], problem: str) -> None:
    assert told(with_shape(**changes)) == [problem]


ARRIVALS: list[tuple[Arrivals, str]] = [
    (At(submit_ms=(5, -1)), ".submit_ms: found -1, expected at least 0"),
    (At(submit_ms=()), ".submit_ms: found no times, expected some"),
    (At(submit_ms=(5,), jobs=0), ".jobs: found 0, expected at least 1"),
    (Every(interval_ms=0), ".interval_ms: found 0, expected at least 1"),
    (Every(interval_ms=1, jobs=0), ".jobs: found 0, expected at least 1"),
    (Every(interval_ms=1, jitter_ms=-1), ".jitter_ms: found -1, expected at least 0"),
    (Every(interval_ms=1, from_ms=-1), ".from_ms: found -1, expected at least 0"),
    (
        Every(interval_ms=1, from_ms=9, until_ms=9),
        ".until_ms: found 9, expected more than from_ms, 9",
    ),
    (
        Poisson(rate=RATE, from_ms=9, until_ms=1),
        ".until_ms: found 1, expected more than from_ms, 9",
    ),
    (Bursts(rate=RATE, jobs=0), ".jobs: found 0, expected at least 1"),
    (Bursts(rate=RATE, jobs=1, spread_ms=-1), ".spread_ms: found -1, expected at least 0"),
    (
        Bursts(rate=RATE, jobs=Exponential(mean=2)),
        ".jobs: found no at_most, expected one of at most 1000000",
    ),
]


@pytest.mark.parametrize(("arrivals", "problem"), ARRIVALS)
def test_arrivals_that_never_are(arrivals: Arrivals, problem: str) -> None:
    assert told(msgspec.structs.replace(GOOD, arrivals=arrivals)) == [f"arrivals{problem}"]


RATES: list[tuple[Rate, str]] = [
    (PerHour(arrivals=0), ".arrivals: found 0, expected more than 0"),
    (PerHour(arrivals=-3), ".arrivals: found -3, expected more than 0"),
    (Load(load=0, resource="gpu", capacity=1), ".load: found 0, expected more than 0"),
    (Load(load=1, resource="gpu", capacity=0), ".capacity: found 0, expected at least 1"),
    (
        Load(load=1, resource="tpu", capacity=1),
        ".resource: found a load of tpu, which no shape asks for",
    ),
]


@pytest.mark.parametrize(("rate", "problem"), RATES)
def test_rates_that_cannot_be(rate: Rate, problem: str) -> None:
    for arrivals in (Poisson(rate=rate), Bursts(rate=rate, jobs=2)):
        assert told(msgspec.structs.replace(GOOD, arrivals=arrivals)) == [f"arrivals.rate{problem}"]


@pytest.mark.parametrize("run_ms", [None, Pareto(at_least=1, alpha=1)])
def test_a_load_needs_a_mean(run_ms: Number | None) -> None:
    load = Poisson(rate=Load(load=1, resource="gpu", capacity=1))
    work = msgspec.structs.replace(with_shape(run_ms=run_ms), arrivals=load)
    [problem] = told(work)
    assert problem.startswith("arrivals.rate: a load needs the mean of pods and run_ms")


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        ((), "shapes: found no shape, expected one or more"),
        (
            (msgspec.structs.replace(SHAPE, weight=0),),
            "shapes.weight: found weights that sum to 0, expected more than 0",
        ),
        (
            (msgspec.structs.replace(SHAPE, run_ms=Exponential(mean=0)),),
            "shapes[0].run_ms.mean: found 0, expected more than 0",
        ),
    ],
)
def test_of_shapes_with_defects_no_mean_is_taken(
    shapes: tuple[JobShape, ...], problem: str
) -> None:
    load = Poisson(rate=Load(load=1, resource="gpu", capacity=1))
    assert told(msgspec.structs.replace(GOOD, shapes=shapes, arrivals=load)) == [problem]


PATTERNS: list[tuple[WeekPattern, str]] = [
    (WeekPattern(by_hour=(1,) * 23), ".by_hour: found 23 numbers, expected 24"),
    (WeekPattern(by_weekday=(1,) * 8), ".by_weekday: found 8 numbers, expected 7"),
    (
        WeekPattern(by_weekday=(0,) * 7),
        ".by_weekday: found weights that sum to 0, expected more than 0",
    ),
    (
        WeekPattern(by_hour=(1,) * 23 + (-1,)),
        ".by_hour: found the weight -1, expected at least 0",
    ),
    (WeekPattern(start_weekday=7), ".start_weekday: found 7, expected at most 6"),
    (WeekPattern(start_hour=-1), ".start_hour: found -1, expected at least 0"),
]


@pytest.mark.parametrize(("pattern", "problem"), PATTERNS)
def test_weeks_that_cannot_be(pattern: WeekPattern, problem: str) -> None:
    work = msgspec.structs.replace(GOOD, arrivals=Poisson(rate=RATE, pattern=pattern))
    assert told(work) == [f"arrivals.pattern{problem}"]


REST: list[tuple[ArrivingWork | Backlog, dict[str, object], str]] = [
    (GOOD, {"name": ""}, "name: found no name, expected one"),
    (GOOD, {"shapes": ()}, "shapes: found no shape, expected one or more"),
    (GOOD, {"queue": InTurn(names=())}, "queue.names: found no name, expected one or more"),
    (
        GOOD,
        {"user": Drawn(names=(("ann", 0),))},
        "user.names: found weights that sum to 0, expected more than 0",
    ),
    (GOOD, {"jobs_at_most": -1}, "jobs_at_most: found -1, expected at least 0"),
    (BACKLOG, {"jobs": 0}, "jobs: found 0, expected at least 1"),
    (BACKLOG, {"from_ms": -1}, "from_ms: found -1, expected at least 0"),
    (BACKLOG, {"until_ms": 0}, "until_ms: found 0, expected more than from_ms, 0"),
]


@pytest.mark.parametrize(("work", "changes", "problem"), REST)
def test_sources_that_cannot_be(
    work: ArrivingWork | Backlog, changes: dict[str, object], problem: str
) -> None:
    assert told(msgspec.structs.replace(work, **changes)) == [problem]


def test_all_defects_are_told_and_the_first_is_raised() -> None:
    bad = msgspec.structs.replace(with_shape(pods=0, run_ms=0), name="")
    assert [defect.field for defect in work_defects(bad)] == [
        "name",
        "shapes[0].pods",
        "shapes[0].run_ms",
    ]
    with pytest.raises(WorkError, match="name: found no name") as raised:
        make_source(bad, seed=1)
    assert isinstance(raised.value, FairleadError)
    assert raised.value.field == "name"
    assert raised.value.problem == "found no name, expected one"


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
