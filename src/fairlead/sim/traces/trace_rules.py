"""What a trace means in a scenario: which part of it, how fast, in which queues, as which pods."""

import re
from fractions import Fraction
from typing import Annotated, Final, Literal

import msgspec

from fairlead.sim.fields import (
    AS_POSITIVE_FACTOR,
    INTERNAL,
    DurationMs,
    Positive,
    Quantities,
    TimeMs,
    says,
)
from fairlead.sim.traces.csv_rows import ColumnMap
from fairlead.sim.traces.trace_job import TraceError, TraceKind

_PLACE: Final = re.compile(r"\{(queue|group|user)\}")


class QueueRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which queue a job of the trace belongs to.

    What is ``named`` decides, and for the rest the pattern ``others``, in which ``{queue}``,
    ``{group}`` and ``{user}`` stand for what the trace says. A job whose trace does not say what
    the pattern needs goes to ``untold``.
    """

    by: Annotated[Literal["queue", "group", "user"], says("What decides.")] = "queue"
    named: Annotated[dict[str, str], says("The queue of each name in the trace.")] = {}
    others: Annotated[
        str | None, says("Of the rest: text with {queue}, {group} or {user}; empty: dropped.")
    ] = "{queue}"  # None: dropped
    untold: Annotated[str | None, says("Where the trace does not say; empty: dropped.")] = (
        "default"  # None: dropped
    )


def check_template(template: str | None) -> None:
    """Raise `TraceError` if the pattern gives no name, or has braces that mean nothing."""
    if template is None:
        return
    if not template or re.search(r"[{}]", _PLACE.sub("", template)):
        raise TraceError(
            f"found the queue pattern {template!r}, expected text with {{queue}}, {{group}} or "
            "{user} in it",
            "write such as {group}/{user}",
            field="queues.others",
        )


def queue_of(rule: QueueRule, queue: str, group: str, user: str) -> str | None:
    """Return the queue of a job with these facts; None if it belongs to none."""
    facts = {"queue": queue, "group": group, "user": user}
    if facts[rule.by] in rule.named:
        return rule.named[facts[rule.by]]
    if rule.others is None:
        return None
    if not all(facts[place] for place in _PLACE.findall(rule.others)):
        return rule.untold
    return _PLACE.sub(lambda match: facts[match[1]], rule.others)


class MissingAmounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a job requests of resources that its trace does not have.

    The first of these that names the resource counts: for each whole GPU that the job has, for each
    whole cpu, or once for the job. Parts count in proportion, rounded up.
    """

    per_gpu: Quantities = {}
    per_cpu: Quantities = {}
    per_job: Quantities = {}


class TraceRules(msgspec.Struct, frozen=True, kw_only=True):
    """How rows become jobs. What is not said leaves the trace as it is, but begins it at 0.

    Times to cut at are those of the trace, before scaling: since its first job, or by date.
    """

    kind: Annotated[TraceKind | None, says("Else recognised from the file.")] = None
    columns: ColumnMap | None = None
    time_zone: Annotated[str, says("Of times without one.")] = "UTC"
    zero_unix_ms: Annotated[int | None, INTERNAL] = None  # when its clock showed 0, if known

    from_ms: Annotated[DurationMs | None, says("Since the first job of the trace.")] = None
    until_ms: Annotated[DurationMs | None, says("Jobs that came then are cut off.")] = None
    from_unix_ms: Annotated[TimeMs | None, says("The same by date.", "fromTime")] = None
    until_unix_ms: Annotated[TimeMs | None, says("Later jobs are cut off.", "untilTime")] = None
    first_jobs: Annotated[Positive | None, says("No more than that.")] = None
    submit_scale: Annotated[Fraction, AS_POSITIVE_FACTOR, says("0.5: jobs come twice as fast.")] = (
        Fraction(1)
    )
    run_scale: Annotated[Fraction, AS_POSITIVE_FACTOR, says("0.5: jobs run half as long.")] = (
        Fraction(1)
    )
    start_at_zero: Annotated[bool, INTERNAL] = True  # else the first job comes when it came

    queues: QueueRule = QueueRule()
    processors: Annotated[
        Literal["cpu", "gpu"], says("What the processors of a trace without GPUs are.")
    ] = "cpu"
    missing: MissingAmounts = MissingAmounts()
    pod_at_most: Annotated[Quantities, says("A job with more is cut into several pods.")] = {}
    gang: Annotated[bool, says("All pods start together; else one is enough.")] = True

    default_priority: Annotated[int, says("Of jobs whose trace has none.", "priority")] = 0
    priorities: Annotated[dict[int, int], INTERNAL] = {}  # of the trace to ours
    preemptible: bool = True
    checkpoint_ms: DurationMs | None = None
    job_kind: Annotated[str, INTERNAL] = ""
    name_prefix: Annotated[str, INTERNAL] = ""
    allow_broken: Annotated[bool, says("Read on although many rows are broken.")] = False


def check_rules(rules: TraceRules) -> None:
    """Raise `TraceError` for rules that no trace can meet, with the field that is wrong."""
    for resource, amount in rules.pod_at_most.items():
        if amount < 1:
            raise TraceError(
                f"found at most {amount} {resource} per pod, expected more than 0",
                "write more, or leave it out",
                field="pod_at_most",
            )
    if rules.columns is not None and len(rules.columns.separator) != 1:
        raise TraceError(
            f"found the separator {rules.columns.separator!r}, expected one character",
            "write one character, such as ;",
            field="columns.separator",
        )
    check_template(rules.queues.others)
