"""What in a description of work contradicts itself: bounds that cross, weights that sum to 0.

The reader of scenario files has checked every field by itself. What is left is how fields go
together, and bounds that need a reason. Paths and words are those of the file.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from fairlead.manifest.text.path import Path
from fairlead.model.duration import format_duration
from fairlead.sim.work.arrivals import (
    FEWEST_JOBS,
    Arrivals,
    At,
    Bursts,
    Load,
    Poisson,
    WeekPattern,
)
from fairlead.sim.work.description import ArrivingWork, Drawn, InTurn, Names, WorkDescription
from fairlead.sim.work.job_shape import SHORTEST_MS, JobShape, mean_resource_time
from fairlead.sim.work.number import (
    HIGHEST,
    MOST,
    Curve,
    Empirical,
    Exponential,
    Lognormal,
    LognormalCurve,
    Number,
    Pareto,
    Real,
    Uniform,
    Weibull,
)

# Beyond these a draw spans more powers of ten than a float has; nothing real comes near them.
_MAX_SIGMA: Final = 10
_MAX_SHAPE: Final = 100
_MIN_SHAPE: Final = Decimal("0.1")


class Defect(NamedTuple):
    """Where a description means nothing, what was found and expected, and how to fix it."""

    path: Path
    problem: str
    fix: str


_Write: TypeAlias = Callable[[Real], str]
"""Writes a number as the file does: a count, or a length of time."""


def _length(length_ms: Real) -> str:
    return format_duration(int(length_ms))


def work_defects(work: WorkDescription) -> Iterator[Defect]:
    """Yield everything that is wrong with *work*, field by field."""
    if not work.name:
        yield Defect(("name",), "found no name, expected one", "write one")
    yield from _name_defects(work.queue, ("queue",))
    yield from _name_defects(work.user, ("user",))
    of_shapes = list(_mix_defects(work.shapes))
    yield from of_shapes
    if isinstance(work, ArrivingWork):
        yield from _arrival_defects(work.arrivals)
        if not of_shapes:  # means are taken of what makes sense only
            yield from _load_defects(work)
    else:
        yield from _count_defects(work.jobs, ("backlog", "jobs"), lowest=1)
        yield from _span_defects(work.from_ms, work.until_ms, ("backlog",))


def _within(
    value: Real, path: Path, *, lowest: Real = 0, highest: Real | None = None, write: _Write = str
) -> Iterator[Defect]:
    if value < lowest:
        problem = f"found {write(value)}, expected at least {write(lowest)}"
        yield Defect(path, problem, f"write {write(lowest)} or more")
    elif highest is not None and value > highest:
        problem = f"found {write(value)}, expected at most {write(highest)}"
        yield Defect(path, problem, f"write {write(highest)} or less")


def _weight_defects(weights: Sequence[Real], path: Path) -> Iterator[Defect]:
    if not weights:
        yield Defect(path, "found nothing to draw from, expected one or more", "add one")
    elif not any(weights):
        problem = "found weights that sum to 0, expected more than 0"
        yield Defect(path, problem, "write at least one above 0")


def _name_defects(names: Names, path: Path) -> Iterator[Defect]:
    match names:
        case Drawn(names=weighted):
            yield from _weight_defects([weight for _, weight in weighted], path)
        case InTurn(names=()):
            yield Defect(path, "found no name, expected one or more", "add one")


def _mix_defects(shapes: Sequence[JobShape]) -> Iterator[Defect]:
    for place, shape in enumerate(shapes):
        path: Path = ("shapes", place)
        yield from _count_defects(shape.pods, (*path, "pods"), lowest=shape.fewest_pods)
        for field, number in (("run", shape.run_ms), ("asked", shape.asked_ms)):
            if number is not None:
                at = (*path, field)
                yield from _number_defects(number, at, lowest=SHORTEST_MS, write=_length)
    yield from _weight_defects([shape.weight for shape in shapes], ("shapes",))


def _number_defects(
    number: Number, path: Path, *, lowest: int, write: _Write = str
) -> Iterator[Defect]:
    """Yield what is wrong with a number that must be *lowest* or more.

    A curve may reach below: its draws are then moved up to *lowest*.
    """
    match number:
        case int():
            yield from _within(number, path, lowest=lowest, write=write)
        case Empirical(values=values):
            for place, (value, _) in enumerate(values):
                yield from _within(value, (*path, "values", place), lowest=lowest, write=write)
            yield from _weight_defects([weight for _, weight in values], (*path, "values"))
        case Uniform(at_least=at_least, at_most=at_most):
            inside = (*path, "uniform")
            yield from _within(at_least, (*inside, "atLeast"), lowest=lowest, write=write)
            yield from _within(at_most, (*inside, "atMost"), lowest=at_least, write=write)
        case _:
            inside = (*path, way_of(number))
            yield from _curve_defects(number, path, write)
            if number.at_most is not None:
                least = max(number.at_least, lowest)
                yield from _within(number.at_most, (*inside, "atMost"), lowest=least, write=write)


def way_of(value: Curve | Uniform[int] | Arrivals) -> str:
    """Return the key under which the file has *value*."""
    return str(value.__struct_config__.tag)


def _curve_defects(curve: Curve, path: Path, write: _Write) -> Iterator[Defect]:
    inside = (*path, way_of(curve))
    middles: dict[str, Real] = {}
    match curve:
        case Exponential(mean=mean):
            middles["mean"] = mean
        case Lognormal(sigma=sigma):
            yield from _within(sigma, (*inside, "sigma"), highest=_MAX_SIGMA)
            middles = _middles(curve)
            if len(middles) != 1:
                found = "both median and mean" if middles else "neither median nor mean"
                yield Defect(path, f"found {found}, expected one of them", "write one of them")
        case Weibull(scale=scale, shape=shape):
            middles["scale"] = scale
            yield from _shape_defects(shape, (*inside, "shape"))
        case Pareto(at_least=at_least, alpha=alpha):
            yield from _within(at_least, (*inside, "atLeast"), lowest=1, write=write)
            yield from _shape_defects(alpha, (*inside, "alpha"))
    for name, middle in middles.items():
        if middle <= 0:
            problem = f"found {write(middle)}, expected more than {write(0)}"
            yield Defect((*inside, name), problem, f"write a number above {write(0)}")
        yield from _within(middle, (*inside, name), highest=HIGHEST, write=write)


def _shape_defects(shape: Real, path: Path) -> Iterator[Defect]:
    return _within(shape, path, lowest=_MIN_SHAPE, highest=_MAX_SHAPE)


def _middles(curve: LognormalCurve) -> dict[str, Real]:
    given = {"median": curve.median, "mean": curve.mean}
    return {name: value for name, value in given.items() if value is not None}


def _count_defects(number: Number, path: Path, *, lowest: int) -> Iterator[Defect]:
    """Yield what is wrong with a number of pods or jobs, of which there must be a bound.

    A heavy tail would otherwise one day ask for more than there is memory.
    """
    found = list(_number_defects(number, path, lowest=lowest))
    yield from found
    if found:
        return
    match number:
        case int():
            yield from _within(number, path, highest=MOST)
        case Empirical(values=values):
            most = max(value for value, _ in values)
            yield from _within(most, (*path, "values"), highest=MOST)
        case _ if number.at_most is None:
            yield Defect(path, f"found no atMost, expected one of at most {MOST}", "add atMost")
        case _:
            yield from _within(number.at_most, (*path, way_of(number), "atMost"), highest=MOST)


def _span_defects(from_ms: int, until_ms: int | None, path: Path) -> Iterator[Defect]:
    if until_ms is not None and until_ms <= from_ms:
        found = f"found {_length(until_ms)}, expected more than from, {_length(from_ms)}"
        yield Defect((*path, "until"), found, "write a later until or an earlier from")


def _arrival_defects(arrivals: Arrivals) -> Iterator[Defect]:
    path: Path = ("arrivals", way_of(arrivals))
    if isinstance(arrivals, At):
        if not arrivals.submit_ms:
            yield Defect((*path, "times"), "found no times, expected some", "add one")
    else:
        yield from _span_defects(arrivals.from_ms, arrivals.until_ms, path)
    if isinstance(arrivals, Poisson | Bursts):
        yield from _pattern_defects(arrivals.pattern, (*path, "pattern"))
    if not isinstance(arrivals, Poisson):
        yield from _count_defects(arrivals.jobs, (*path, "jobs"), lowest=FEWEST_JOBS)


def _pattern_defects(pattern: WeekPattern, path: Path) -> Iterator[Defect]:
    for name, weights, count in (
        ("byHour", pattern.by_hour, 24),
        ("byWeekday", pattern.by_weekday, 7),
    ):
        if len(weights) != count:
            problem = f"found {len(weights)} numbers, expected {count}"
            yield Defect((*path, name), problem, f"write {count} numbers")
        else:
            yield from _weight_defects(weights, (*path, name))


def _load_defects(work: ArrivingWork) -> Iterator[Defect]:
    """Yield why a load cannot be reached from jobs of a mix that is itself without defects."""
    arrivals = work.arrivals
    if not isinstance(arrivals, Poisson | Bursts) or not isinstance(arrivals.rate, Load):
        return
    path: Path = ("arrivals", way_of(arrivals), "load")
    resource = arrivals.rate.resource
    job = mean_resource_time(work.shapes, resource)
    if job is None:
        problem = "a load needs the mean of pods and run, but a shape runs for ever or its tail "
        problem += "is too heavy"
        yield Defect(path, problem, "give it atMost, or give arrivals per hour")
    elif job == 0:
        problem = f"found a load of {resource}, which no shape asks for"
        yield Defect(path, problem, "name what the shapes ask for")
