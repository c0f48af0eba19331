"""How a scenario file describes the log of a real cluster that it takes its work from."""

from typing import Annotated, Literal

import msgspec

from fairlead.sim.scenario.drawn_form import ONE
from fairlead.sim.scenario.field_types import (
    DurationMs,
    Positive,
    PositiveFactor,
    Quantities,
    TimeMs,
    in_file,
    says,
)
from fairlead.sim.traces.column_map import AmountUnit, TimeUnit


class TimeColumnForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """A column with moments or lengths of time."""

    name: str
    unit: TimeUnit = "s"


class AmountColumnForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """A column with amounts of one resource."""

    name: str
    unit: AmountUnit = "one"


class ColumnsForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """What the columns of a table mean."""

    submit: TimeColumnForm
    run: TimeColumnForm | None = None
    start: TimeColumnForm | None = None
    end: TimeColumnForm | None = None
    wait: TimeColumnForm | None = None
    asked: TimeColumnForm | None = None
    id: str | None = None
    user: str | None = None
    group: str | None = None
    queue: str | None = None
    amounts: Annotated[dict[str, AmountColumnForm], says("By resource.")] = {}
    amounts_of: Literal["job", "pod"] = "job"
    pods: str | None = None
    priority: str | None = None
    names: Annotated[tuple[str, ...], says("Of all columns, if the table has no heading.")] = ()
    separator: str = ","


class TraceQueuesForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Which queue a job of the trace belongs to."""

    by: Annotated[Literal["queue", "group", "user"], says("What decides.")] = "queue"
    named: Annotated[dict[str, str], says("The queue of each name in the trace.")] = {}
    others: Annotated[
        str, says("Of the rest: text with {queue}, {group} or {user}; empty: dropped.")
    ] = "{queue}"
    untold: Annotated[str, says("Where the trace does not tell; empty: dropped.")] = "default"


class MissingForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """What a job asks for of resources that its trace does not tell."""

    per_gpu: Quantities = {}
    per_cpu: Quantities = {}
    per_job: Quantities = {}


class TraceForm(msgspec.Struct, frozen=True, kw_only=True, rename=in_file):
    """Jobs that a real cluster once had."""

    path: Annotated[str, says("The log, seen from the folder of this file; may be gzipped.")]
    kind: Annotated[Literal["swf", "sacct", "csv"] | None, says("Else told from the file.")] = None
    columns: ColumnsForm | None = None
    time_zone: Annotated[str, says("Of times that do not tell theirs.")] = "UTC"
    from_ms: Annotated[DurationMs | None, says("Since the first job of the trace.")] = None
    until_ms: Annotated[DurationMs | None, says("Jobs that came then are cut off.")] = None
    from_time_ms: Annotated[TimeMs | None, says("The same by date.")] = None
    until_time_ms: TimeMs | None = None
    first_jobs: Annotated[Positive | None, says("No more than that.")] = None
    submit_scale: Annotated[PositiveFactor, says("0.5: jobs come twice as fast.")] = ONE
    run_scale: Annotated[PositiveFactor, says("0.5: jobs run half as long.")] = ONE
    queues: TraceQueuesForm = TraceQueuesForm()
    processors: Annotated[
        Literal["cpu", "gpu"], says("What the processors of a trace without GPUs are.")
    ] = "cpu"
    missing: MissingForm = MissingForm()
    pod_at_most: Annotated[Quantities, says("A job with more is cut into several pods.")] = {}
    gang: Annotated[bool, says("All pods start together; else one is enough.")] = True
    priority: Annotated[int, says("Of jobs whose trace tells none.")] = 0
    preemptible: bool = True
    checkpoint_ms: DurationMs | None = None
    allow_broken: Annotated[bool, says("Read on although many rows are broken.")] = False
