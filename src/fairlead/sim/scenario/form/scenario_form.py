"""How a scenario file looks: every field, its type and what it means.

The reader, the JSON Schema and the modules that build a simulation all go by these types.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Generic, Literal, TypeAlias

import msgspec
from msgspec import Meta

from fairlead.manifest.text.path import Path
from fairlead.policy.contract import PolicyName
from fairlead.sim.engine.faults import Faults
from fairlead.sim.fields import (
    AsWritten,
    DurationMs,
    Factor,
    Positive,
    PositiveFactor,
    PositiveMs,
    Quantities,
    TimeMs,
    Whole,
    says,
)
from fairlead.sim.traces.trace_rules import TraceRules
from fairlead.sim.work.arrivals import At, Every, WeekPattern
from fairlead.sim.work.number import (
    MOST,
    ONE,
    Exponential,
    Lognormal,
    Pareto,
    RealNumber_co,
    Uniform,
    Weibull,
    WholeNumber_co,
)


class SeenForm(msgspec.Struct, Generic[WholeNumber_co], frozen=True, kw_only=True):
    """A value that was seen, and how often against the others."""

    value: WholeNumber_co
    weight: Factor = ONE


class DrawnForm(msgspec.Struct, Generic[WholeNumber_co, RealNumber_co], frozen=True, kw_only=True):
    """Drawn anew for each job, in exactly one of these ways."""

    uniform: Uniform[WholeNumber_co] | None = None
    exponential: Exponential[WholeNumber_co, RealNumber_co] | None = None
    lognormal: Lognormal[WholeNumber_co, RealNumber_co] | None = None
    weibull: Weibull[WholeNumber_co, RealNumber_co] | None = None
    pareto: Pareto[WholeNumber_co] | None = None
    values: tuple[SeenForm[WholeNumber_co], ...] | None = None


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
    run_ms: Annotated[PositiveMs | Literal["forever"], says("With all of its pods.")]
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


API_VERSION: Final = "fairlead/v1"
KIND: Final = "Scenario"
MOST_NODES: Final = 50_000  # of one group
CYCLE_MS: Final = 1000  # the least time between cycles where the scenario says none
FIRST_MONDAY_MS: Final = 1_767_571_200_000  # 2026-01-05T00:00:00Z


NodeCount: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_NODES)]


class TaintForm(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeGroupForm(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike: NAME-1, NAME-2 and so on, or NAME alone without a count."""

    name: str
    count: Annotated[NodeCount | None, says("How many; else one.")] = None
    capacity: Annotated[Quantities, says("Of each node; gpu is short for nvidia.com/gpu.")]
    labels: dict[str, str] = {}
    taints: tuple[TaintForm, ...] = ()


class NodeChangeForm(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that fail, or are added."""

    at_ms: Annotated[DurationMs, says("Since the start.")]
    lose: Annotated[tuple[str, ...], says("Names of nodes, or of groups for all of them.")] = ()
    for_ms: Annotated[PositiveMs | None, says("Lost nodes are back after it; else never.")] = None
    add: NodeGroupForm | None = None


class ClusterForm(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes, and what happens to them."""

    nodes: tuple[NodeGroupForm, ...] = ()
    changes: tuple[NodeChangeForm, ...] = ()


class QueueForm(msgspec.Struct, frozen=True, kw_only=True):
    """A queue under any rule set; queues that name it as parent are below it."""

    name: str
    parent: str | None = None
    guaranteed: Annotated[Quantities | None, says("What it can have whenever it asks.")] = None
    limit: Annotated[Quantities | None, says("What it may hold at most.")] = None
    weight: Annotated[Factor, says("How what is left over is divided.")] = ONE
    priority: Annotated[int | None, says("Of the queue, under rules with queue priorities.")] = None
    borrow_limit: Annotated[Quantities | None, says("At most so much above guaranteed.")] = None
    lend_limit: Annotated[Quantities | None, says("At most so much lent to others.")] = None
    min_runtime_ms: Annotated[
        DurationMs | None, says("No job is evicted before it ran so long.")
    ] = None


class WindowForm(msgspec.Struct, frozen=True, kw_only=True):
    """Which past use counts."""

    type: Literal["sliding", "tumbling", "cron"] = "sliding"
    length_ms: DurationMs | None = None
    start_ms: TimeMs | None = None
    cron: str | None = None
    time_zone: str | None = None


class UsageForm(msgspec.Struct, frozen=True, kw_only=True):
    """How past use counts, under rules that look at it."""

    k: Annotated[Factor | None, says("How much it counts; 0: not at all.")] = None
    window: Annotated[DurationMs | WindowForm | None, says("Else the last 7 days.")] = None
    half_life_ms: Annotated[DurationMs | None, says("After it, use counts half.")] = None
    charge: Annotated[Literal["all", "over-quota"] | None, says("Which use counts.")] = None
    sum: Literal["exact", "sampled"] | None = None
    resolution_ms: Annotated[DurationMs | None, says("Between two samples.")] = None
    fetch_interval_ms: Annotated[PositiveMs, says("How often the scheduler asks.")] = 60_000


class PolicyForm(msgspec.Struct, frozen=True, kw_only=True):
    """Rules to run the work under."""

    policy: PolicyName
    name: Annotated[str | None, says("Else that of the policy.")] = None
    faithful: Annotated[bool, says("Decides as the peer does, quirks included.")] = False
    fair_sharing: Annotated[
        bool | None, says("Under rules with that option; inline queues have it on.")
    ] = None
    usage: Annotated[UsageForm | None, says("In place of that of the scenario.")] = None
    settings: Annotated[
        AsWritten, says("The section of fairlead/v1 Settings for the policy, if it has one.")
    ] = {}


class CycleForm(msgspec.Struct, frozen=True, kw_only=True):
    """When the scheduler looks."""

    at_most_every_ms: Annotated[
        PositiveMs | None, says("Between cycles, when something changed; else 1s.")
    ] = None
    every_ms: Annotated[PositiveMs | None, says("A fixed period instead.")] = None
    look_again_ms: Annotated[PositiveMs, says("Where time alone may change a decision.")] = 60_000


class PodsForm(msgspec.Struct, frozen=True, kw_only=True):
    """What pods need to start and to stop."""

    grace_ms: Annotated[DurationMs, says("From its eviction until it has stopped.")] = 0
    start_up_ms: Annotated[DurationMs, says("From its place until it works.")] = 0
    restart_ms: Annotated[DurationMs, says("In addition, after an eviction.")] = 0


class SpecForm(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate."""

    start_ms: Annotated[
        TimeMs, says("A full hour of 1970 to 2200; else Monday 2026-01-05T00:00:00Z.")
    ] = FIRST_MONDAY_MS
    duration_ms: Annotated[PositiveMs | None, says("Else until all work is done.")] = None
    seed: Annotated[Whole, says("Same seed, same results.")] = 0
    cluster: ClusterForm = ClusterForm()
    queues: Annotated[tuple[QueueForm, ...], says("Or else manifests.")] = ()
    manifests: Annotated[
        tuple[str, ...], says("Files and folders, seen from the folder of this file.")
    ] = ()
    policies: tuple[PolicyName | PolicyForm, ...] = ()
    cycle: CycleForm = CycleForm()
    pods: PodsForm = PodsForm()
    faults: Annotated[Faults | None, says("Orders that go wrong; else none.")] = None
    usage: UsageForm | None = None
    work: tuple[WorkForm, ...]


class MetadataForm(msgspec.Struct, frozen=True, kw_only=True):
    """What the scenario is called."""

    name: str


class ScenarioForm(msgspec.Struct, frozen=True, kw_only=True):
    """A simulation: cluster, queues, rules and work."""

    api_version: Literal["fairlead/v1"]
    kind: Literal["Scenario"]
    metadata: MetadataForm
    spec: SpecForm
