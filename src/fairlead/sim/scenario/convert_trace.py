"""From the trace of a scenario file to the rules by which its jobs are read."""

from fractions import Fraction

import msgspec

from fairlead.sim.scenario.resource_names import full_name, full_names
from fairlead.sim.scenario.trace_form import (
    AmountColumnForm,
    ColumnsForm,
    TimeColumnForm,
    TraceForm,
)
from fairlead.sim.traces.column_map import AmountColumn, ColumnMap, TimeColumn
from fairlead.sim.traces.queue_rule import QueueRule
from fairlead.sim.traces.trace_rules import MissingAmounts, TraceRules


def trace_rules(source: str, form: TraceForm) -> TraceRules:
    """Return the rules; jobs are called after the *source*, so that two traces do not collide."""
    queues, missing = form.queues, form.missing
    return TraceRules(
        kind=form.kind,
        columns=None if form.columns is None else _columns(form.columns),
        time_zone=form.time_zone,
        from_ms=form.from_ms,
        until_ms=form.until_ms,
        from_unix_ms=form.from_time_ms,
        until_unix_ms=form.until_time_ms,
        first_jobs=form.first_jobs,
        submit_scale=Fraction(form.submit_scale),
        run_scale=Fraction(form.run_scale),
        queues=QueueRule(
            by=queues.by,
            named=queues.named,
            others=queues.others or None,
            untold=queues.untold or None,
        ),
        processors=form.processors,
        missing=MissingAmounts(
            per_gpu=full_names(missing.per_gpu),
            per_cpu=full_names(missing.per_cpu),
            per_job=full_names(missing.per_job),
        ),
        pod_at_most=full_names(form.pod_at_most),
        gang=form.gang,
        default_priority=form.priority,
        preemptible=form.preemptible,
        checkpoint_ms=form.checkpoint_ms,
        job_kind=source,
        name_prefix=f"{source}-",
        allow_broken=form.allow_broken,
    )


def _columns(form: ColumnsForm) -> ColumnMap:
    given = {name: getattr(form, name) for name in form.__struct_fields__ if name != "amounts"}
    times = {
        name: TimeColumn(name=column.name, unit=column.unit)
        for name, column in given.items()
        if isinstance(column, TimeColumnForm)
    }
    amounts = {full_name(name): _amounts(column) for name, column in form.amounts.items()}
    return ColumnMap(**{**given, **times}, amounts=amounts)


def _amounts(form: AmountColumnForm) -> AmountColumn:
    return msgspec.convert(form, AmountColumn, from_attributes=True)
