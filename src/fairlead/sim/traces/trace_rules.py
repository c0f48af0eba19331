"""What a trace means in a scenario: which part of it, how fast, in which queues, as which pods."""

import re
from fractions import Fraction
from typing import Final, Literal

import msgspec

from fairlead.sim.traces.column_map import ColumnMap
from fairlead.sim.traces.trace_job import TraceError, TraceKind

_PLACE: Final = re.compile(r"\{(queue|group|user)\}")


class QueueRule(msgspec.Struct, frozen=True, kw_only=True):
    """What is ``named`` decides, and for the rest the pattern ``others``.

    In it ``{queue}``, ``{group}`` and ``{user}`` stand for what the trace says. A job whose trace
    does not say what the pattern needs goes to ``untold``.
    """

    by: Literal["queue", "group", "user"] = "queue"
    named: dict[str, str] = {}
    others: str | None = "{queue}"  # None: all that is not named is dropped
    untold: str | None = "default"  # None: dropped


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
    """What a job requests of resources that its trace does not have, in base units by resource.

    The first of these that names the resource counts: for each whole GPU that the job has, for each
    whole cpu, or once for the job. Parts count in proportion, rounded up.
    """

    per_gpu: dict[str, int] = {}
    per_cpu: dict[str, int] = {}
    per_job: dict[str, int] = {}


class TraceRules(msgspec.Struct, frozen=True, kw_only=True):
    """How rows become jobs. What is not said leaves the trace as it is, but begins it at 0.

    Times to cut at are those of the trace, before scaling: since its first job, or by date.
    """

    kind: TraceKind | None = None  # None: recognised from the file
    columns: ColumnMap | None = None  # what the columns of a table are; None: our own
    time_zone: str = "UTC"  # of times without one
    zero_unix_ms: int | None = None  # when the trace's clock showed 0, if it does not say so

    from_ms: int | None = None  # since the first job of the trace
    until_ms: int | None = None  # jobs that came then are cut off
    from_unix_ms: int | None = None
    until_unix_ms: int | None = None
    first_jobs: int | None = None  # no more than that, after all else was dropped
    submit_scale: Fraction = Fraction(1)  # 1/2: they come twice as fast
    run_scale: Fraction = Fraction(1)  # also of the time that their owners asked for
    start_at_zero: bool = True  # else the first job comes when its trace says

    queues: QueueRule = QueueRule()
    processors: Literal["cpu", "gpu"] = "cpu"  # what the cpus of a trace without GPUs are
    missing: MissingAmounts = MissingAmounts()
    pod_at_most: dict[str, int] = {}  # in base units; a job with more is cut into several pods
    gang: bool = True  # all pods start together; else one is enough

    default_priority: int = 0
    priorities: dict[int, int] = {}  # of the trace to ours; one that is not named stays
    preemptible: bool = True
    checkpoint_ms: int | None = None
    job_kind: str = ""
    name_prefix: str = ""
    allow_broken: bool = False  # read on although more than 1 row in 100 is broken


def check_rules(rules: TraceRules) -> None:
    """Raise `TraceError` for rules that no trace can meet, with the field that is wrong."""
    for field, scale in (("submit_scale", rules.submit_scale), ("run_scale", rules.run_scale)):
        if scale <= 0:
            raise TraceError(
                "found a time scale that is not above 0, expected more",
                "write such as 0.5 or 3",
                field=field,
            )
    if rules.first_jobs is not None and rules.first_jobs < 1:
        raise TraceError(
            f"found first {rules.first_jobs} jobs, expected at least 1",
            "write 1 or more",
            field="first_jobs",
        )
    for resource, amount in rules.pod_at_most.items():
        if amount < 1:
            raise TraceError(
                f"found at most {amount} {resource} per pod, expected more than 0",
                "write more, or leave it out",
                field="pod_at_most",
            )
    for field in ("per_gpu", "per_cpu", "per_job"):
        for resource, amount in getattr(rules.missing, field).items():
            if amount < 0:
                raise TraceError(
                    f"found {amount} {resource} where the trace has none, expected 0 or more",
                    "write 0 or more",
                    field=f"missing.{field}",
                )
    if rules.columns is not None and len(rules.columns.separator) != 1:
        raise TraceError(
            f"found the separator {rules.columns.separator!r}, expected one character",
            "write one character, such as ;",
            field="columns.separator",
        )
    check_template(rules.queues.others)
