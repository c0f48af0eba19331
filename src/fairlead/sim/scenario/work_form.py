"""How a scenario file describes its work: explicit jobs, arrivals, backlogs and traces."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from fairlead.sim.scenario.drawn_form import ONE, DrawnCount, DrawnTime
from fairlead.sim.scenario.field_types import (
    DurationMs,
    Factor,
    Positive,
    PositiveFactor,
    Quantities,
    Whole,
    in_file,
    says,
)
from fairlead.sim.scenario.trace_form import TraceForm
from fairlead.sim.work.number import MOST

PodCount: TypeAlias = Annotated[int, Meta(ge=1, le=MOST)]
RunTime: TypeAlias = DurationMs | Literal["forever"] | DrawnTime


class NamesForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Several names: each job draws one, or takes the next."""

    drawn: Annotated[dict[str, Factor] | None, says("Names, and how often each is drawn.")] = None
    in_turn: Annotated[tuple[str, ...] | None, says("The first job has the first name.")] = None


class JobForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
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


class ShapeForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
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


class PatternForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """How busy hours and days are against each other; the mean over a week stays."""

    by_hour: Annotated[tuple[Factor, ...], says("24 numbers, from midnight UTC.")] = (ONE,) * 24
    by_weekday: Annotated[tuple[Factor, ...], says("7 numbers, from Monday.")] = (ONE,) * 7


class AtForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """At given times."""

    times: tuple[DurationMs, ...]
    jobs: Positive = 1


class EveryForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Again and again."""

    interval_ms: DurationMs
    jobs: Positive = 1
    jitter_ms: Annotated[DurationMs, says("Each comes up to so much late.")] = 0
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class PoissonForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """By chance: so many an hour, or so much load."""

    per_hour: Annotated[PositiveFactor | None, says("On average over a week.")] = None
    load: Annotated[PositiveFactor | None, says("1 would keep all of the resource busy.")] = None
    load_of: Annotated[str | None, says("Which resource; else GPUs, or cpu without any.")] = None
    pattern: PatternForm = PatternForm()
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class BurstsForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Many at once, at times by chance; the rate is that of bursts."""

    per_hour: PositiveFactor | None = None
    load: PositiveFactor | None = None
    load_of: str | None = None
    jobs: Annotated[Positive | DrawnCount, says("Of a burst.")]
    spread_ms: Annotated[DurationMs, says("Each comes up to so much after the burst began.")] = 0
    pattern: PatternForm = PatternForm()
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class ArrivalsForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """When jobs come, in exactly one of these ways."""

    at: AtForm | None = None
    every: EveryForm | None = None
    poisson: PoissonForm | None = None
    bursts: BurstsForm | None = None


class BacklogForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Work without end: when there is too little of it, there comes more."""

    jobs: Annotated[Positive, says("So many at any time.")]
    keep: Annotated[
        Literal["waiting", "alive"], says("Which jobs count: alive is waiting or running.")
    ] = "waiting"
    from_ms: DurationMs = 0
    until_ms: DurationMs | None = None


class WorkForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
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
