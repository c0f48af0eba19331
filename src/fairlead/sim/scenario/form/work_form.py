"""How a scenario file describes its work: explicit jobs, arrivals, backlogs and traces."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from fairlead.manifest.text.path import Path
from fairlead.sim.fields import (
    DurationMs,
    Factor,
    Positive,
    PositiveFactor,
    Quantities,
    Whole,
    says,
)
from fairlead.sim.traces.trace_rules import TraceRules
from fairlead.sim.work.arrivals import At, Every
from fairlead.sim.work.number import MOST, ONE
from fairlead.sim.work.rate import WeekPattern

WholeNumber = TypeVar("WholeNumber")
RealNumber = TypeVar("RealNumber")


class UniformForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True):
    """Everything between two bounds, equally often."""

    at_least: WholeNumber
    at_most: WholeNumber


class ExponentialForm(msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True):
    """Without a memory: the mean before the bounds."""

    mean: RealNumber
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class LognormalForm(msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True):
    """As run times often are: median or mean, and sigma; 1 is a factor of 2.7."""

    median: RealNumber | None = None
    mean: RealNumber | None = None
    sigma: PositiveFactor
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class WeibullForm(msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True):
    """Exponential, stretched: 63 % are below the scale; a shape below 1 has a heavier tail."""

    scale: RealNumber
    shape: PositiveFactor
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class ParetoForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True):
    """The heaviest tail: (atLeast / x) ** alpha are above x."""

    at_least: WholeNumber
    alpha: PositiveFactor
    at_most: WholeNumber | None = None


class SeenForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True):
    """A value that was seen, and how often against the others."""

    value: WholeNumber
    weight: Factor = ONE


class DrawnForm(msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True):
    """Drawn anew for each job, in exactly one of these ways."""

    uniform: UniformForm[WholeNumber] | None = None
    exponential: ExponentialForm[WholeNumber, RealNumber] | None = None
    lognormal: LognormalForm[WholeNumber, RealNumber] | None = None
    weibull: WeibullForm[WholeNumber, RealNumber] | None = None
    pareto: ParetoForm[WholeNumber] | None = None
    values: tuple[SeenForm[WholeNumber], ...] | None = None


DrawnTime: TypeAlias = DrawnForm[DurationMs, DurationMs]
DrawnCount: TypeAlias = DrawnForm[Whole, PositiveFactor]


class TraceForm(TraceRules, frozen=True, kw_only=True):
    """Jobs that a real cluster once had."""

    path: Annotated[str, says("The log, seen from the folder of this file; may be gzipped.")]


PodCount: TypeAlias = Annotated[int, Meta(ge=1, le=MOST)]
RunTime: TypeAlias = DurationMs | Literal["forever"] | DrawnTime


class NamesForm(msgspec.Struct, frozen=True, kw_only=True):
    """Several names: each job draws one, or takes the next."""

    drawn: Annotated[dict[str, Factor] | None, says("Names, and how often each is drawn.")] = None
    in_turn: Annotated[tuple[str, ...] | None, says("The first job has the first name.")] = None


class JobForm(msgspec.Struct, frozen=True, kw_only=True):
    """One job."""

    name: Annotated[str | None, says("Else that of the source with a number.")] = None
    at_ms: Annotated[DurationMs, says("When it comes, since the start.")] = 0
    queue: Annotated[str | None, says("Else that of the source.")] = None
    user: str | None = None
    pods: PodCount = 1
    min_pods: Annotated[PodCount | None, says("Fewer than pods: elastic; else a gang.")] = None
    requests: Annotated[Quantities, says("Of each pod.")]
    run_ms: Annotated[DurationMs | Literal["forever"], says("With all of its pods.")]
    asked_ms: Annotated[DurationMs | None, says("The run time that its owner asks for.")] = None
    priority: int = 0
    preemptible: bool = True
    checkpoint_ms: Annotated[DurationMs | None, says("How often; 0s: nothing is ever lost.")] = None
    node_labels: dict[str, str] = {}


class ShapeForm(msgspec.Struct, frozen=True, kw_only=True):
    """What jobs are like; of several shapes each job draws one."""

    weight: Annotated[Factor, says("How often it is drawn, against the others.")] = ONE
    pods: Positive | DrawnCount = 1
    min_pods: Annotated[Positive | None, says("Fewer than pods: elastic; else a gang.")] = None
    requests: Annotated[Quantities, says("Of each pod.")]
    run_ms: Annotated[RunTime, says("With all of its pods.")]
    asked_ms: Annotated[
        DurationMs | DrawnTime | None, says("The run time that its owner asks for.")
    ] = None
    priority: int = 0
    preemptible: bool = True
    checkpoint_ms: Annotated[DurationMs | None, says("How often; 0s: nothing is ever lost.")] = None
    node_labels: dict[str, str] = {}


class PoissonForm(msgspec.Struct, frozen=True, kw_only=True):
    """By chance: so many an hour, or so much load."""

    per_hour: Annotated[PositiveFactor | None, says("On average over a week.")] = None
    load: Annotated[PositiveFactor | None, says("1 would keep all of the resource busy.")] = None
    load_of: Annotated[str | None, says("Which resource; else GPUs, or cpu without any.")] = None
    pattern: WeekPattern = WeekPattern()
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class BurstsForm(msgspec.Struct, frozen=True, kw_only=True):
    """Many at once, at times by chance; the rate is that of bursts."""

    per_hour: PositiveFactor | None = None
    load: PositiveFactor | None = None
    load_of: str | None = None
    jobs: Annotated[Positive | DrawnCount, says("Of a burst.")]
    spread_ms: Annotated[DurationMs, says("Each comes up to so much after the burst began.")] = 0
    pattern: WeekPattern = WeekPattern()
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class ArrivalsForm(msgspec.Struct, frozen=True, kw_only=True):
    """When jobs come, in exactly one of these ways."""

    at: At | None = None
    every: Every | None = None
    poisson: PoissonForm | None = None
    bursts: BurstsForm | None = None


class BacklogForm(msgspec.Struct, frozen=True, kw_only=True):
    """Work without end: when there is too little of it, there comes more."""

    jobs: Annotated[Positive, says("So many at any time.")]
    keep: Annotated[
        Literal["waiting", "alive"], says("Which jobs count: alive is waiting or running.")
    ] = "waiting"
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class WorkForm(msgspec.Struct, frozen=True, kw_only=True):
    """A source of work: jobs, or a trace, or shapes with arrivals or a backlog."""

    name: Annotated[str, says("Its jobs are called after it.")]
    queue: str | NamesForm | None = None
    user: str | NamesForm | None = None
    jobs: tuple[JobForm, ...] | None = None
    shapes: tuple[ShapeForm, ...] | None = None
    arrivals: ArrivalsForm | None = None
    backlog: BacklogForm | None = None
    trace: TraceForm | None = None
    at_most: Annotated[Whole | None, says("No more jobs than that.")] = None


def written_jobs(work: Sequence[WorkForm]) -> Iterator[tuple[Path, JobForm | ShapeForm]]:
    """Yield each of them in the order of the file."""
    for place, source in enumerate(work):
        path: Path = ("spec", "work", place)
        for at, job in enumerate(source.jobs or ()):
            yield (*path, "jobs", at), job
        for at, shape in enumerate(source.shapes or ()):
            yield (*path, "shapes", at), shape
