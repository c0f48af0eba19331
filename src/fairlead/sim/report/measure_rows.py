"""The measures of a run as a table: its resources with their units, its columns and rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlead.model.quantity import is_gpu, is_memory_like, scale_of
from fairlead.sim.measures.summary import JobMeasures, Summary
from fairlead.sim.report.report_page import MeasureColumn, MeasureRow, MeasureTable, ShownResource

MOST_RESOURCES: Final = 4
GIB: Final = 2**30


def shown_resources(
    resources: Sequence[str], summaries: Sequence[Summary]
) -> tuple[ShownResource, ...]:
    """Return the resources that some queue held in some run, GPUs first, at most four.

    If no queue held anything, the first one is shown, so that the page is not empty.
    """
    held = [
        name
        for name in resources
        if any(summary.of_cluster.allocated.get(name, 0) for summary in summaries)
    ]
    ordered = sorted(held or resources[:1], key=lambda name: not is_gpu(name))
    return tuple(map(shown, ordered[:MOST_RESOURCES]))


def shown(resource: str) -> ShownResource:
    """Return how *resource* is shown to people."""
    if is_memory_like(resource):
        return ShownResource(name=resource, unit="GiB", scale=GIB)
    if is_gpu(resource):
        return ShownResource(name=resource, unit="GPU", scale=scale_of(resource))
    unit = "core" if resource == "cpu" else resource
    return ShownResource(name=resource, unit=unit, scale=scale_of(resource))


MOST_ROWS: Final = 500
"""Of a scope; more are in the files of the result."""

HOUR_MS: Final = 3_600_000
Number = float | None


class _Column(msgspec.Struct, frozen=True):
    """A column, and the fields that lead to a row's number: of the first path that the row has."""

    key: str
    title: str
    form: str
    paths: tuple[str, ...]
    meaning: str = ""

    def find(self, row: JobMeasures, resource: str = "") -> Number:
        """Return the number of *row*, for one resource if it is by resource; None: it has none."""
        found = (_number_at(row, path.split("/"), resource) for path in self.paths)
        return next((number for number in found if number is not None), None)


def _number_at(row: JobMeasures, steps: Sequence[str], resource: str) -> Any:
    found: Any = row
    for step in steps:
        name = resource if step == RESOURCE else step
        found = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
    return found


RESOURCE: Final = "{resource}"
_OF_JOBS: Final = (
    _Column("submitted", "Jobs", "count", ("submitted",), "jobs that came"),
    _Column("finished", "Done", "count", ("finished",), "jobs that are done"),
    _Column("unstarted", "Never started", "count", ("unstarted/jobs",), "jobs not started"),
    _Column("wait_mean", "Wait, mean", "ms", ("wait/mean_ms",), "first start - submission"),
    _Column("wait_p50", "Wait, p50", "ms", ("wait/p50_ms",), "half waited no longer"),
    _Column("wait_p90", "Wait, p90", "ms", ("wait/p90_ms",), "90 % waited no longer"),
    _Column("wait_p99", "Wait, p99", "ms", ("wait/p99_ms",), "99 % waited no longer"),
    _Column("wait_max", "Wait, longest", "ms", ("wait/max_ms",), "no job waited longer"),
    *(
        _Column(
            f"wait_at_least_{key}",
            f"Wait at least, {title}",
            "ms",
            (f"wait_at_least/{key}_ms",),
            "of all jobs: one that never started waited until the end at least",
        )
        for key, title in (
            ("mean", "mean"),
            ("p50", "p50"),
            ("p90", "p90"),
            ("p99", "p99"),
            ("max", "longest"),
        )
    ),
    _Column(
        "slowdown_mean",
        "Slowdown, mean",
        "ratio",
        ("slowdown/mean",),
        "time in the system / run time, 10 s at least",
    ),
    _Column(
        "finish_time_fairness",
        "Finish-time fairness",
        "ratio",
        ("finish_time_fairness/mean",),
        "time taken / time with only what is due; below 1 is better than alone",
    ),
    _Column("makespan", "Makespan", "ms", ("makespan_ms",), "last finish - first submission"),
    _Column(
        "evicted",
        "Evictions",
        "count",
        ("preemptions/evicted",),
        "how often pods of a job were evicted for others",
    ),
    _Column(
        "moved",
        "Moves",
        "count",
        ("preemptions/moved",),
        "how often pods of a job got another place instead of theirs",
    ),
    _Column(
        "node_lost",
        "Node losses",
        "count",
        ("preemptions/node-lost",),
        "how often pods of a job lost their places because a node was gone",
    ),
)
_OF_RESOURCES: Final = (
    _Column("allocated", "Got", "amount-time", ("allocated/{resource}",), "held"),
    _Column(
        "entitled",
        "Due",
        "amount-time",
        ("entitled/{resource}",),
        "entitled, from change to change",
    ),
    _Column("utilisation", "Part of cluster", "percent", ("utilisation/{resource}",)),
    _Column(
        "goodput",
        "Goodput",
        "percent",
        ("goodput/{resource}",),
        "part of cluster, without work that was lost",
    ),
    _Column(
        "received_to_entitled",
        "Got of due while waiting",
        "percent",
        ("backlogged/{resource}/received_to_entitled",),
        "received / entitled while it asked for more than it had",
    ),
    _Column("backlogged", "Time waiting", "ms", ("backlogged/{resource}/span_ms",)),
    _Column(
        "worst_deficit",
        "Worst deficit",
        "amount-time",
        ("worst_deficit/{resource}", "backlogged/{resource}/worst_deficit"),
        "the furthest that it ever fell behind what was due",
    ),
    _Column(
        "jain", "Jain index", "ratio", ("jain/{resource}",), "1 is even, near 0 is all for few"
    ),
    _Column(
        "lost",
        "Lost work",
        "amount-time",
        ("lost/{resource}",),
        "work that had to be done anew after evictions, moves and node losses",
    ),
    *(
        _Column(
            f"lost_{cause}",
            f"Lost to {plural}",
            "amount-time",
            (f"lost_by_cause/{cause}/{{resource}}",),
            f"work that had to be done anew after {plural}",
        )
        for cause, plural in (
            ("evicted", "evictions"),
            ("moved", "moves"),
            ("node-lost", "node losses"),
        )
    ),
)


def measure_columns() -> list[MeasureColumn]:
    """Return the columns: first those of jobs, then those that each resource has."""
    return [
        MeasureColumn(
            key=each.key,
            title=each.title,
            form=each.form,
            meaning=each.meaning,
            by_resource=each in _OF_RESOURCES,
        )
        for each in (*_OF_JOBS, *_OF_RESOURCES)
    ]


def measure_tables(summary: Summary, resources: Sequence[ShownResource]) -> dict[str, MeasureTable]:
    """Return the rows of each scope, those that got most first where there are too many.

    Resource-time is in hours of the unit in which a resource is shown.
    """
    return {
        "cluster": _table({"": summary.of_cluster}, resources),
        "queue": _table(summary.of_queues, resources),
        "user": _table(summary.of_users, resources),
        "kind": _table(summary.of_kinds, resources),
    }


def _table(rows: Mapping[str, JobMeasures], resources: Sequence[ShownResource]) -> MeasureTable:
    kept = set(sorted(rows, key=lambda name: (-_weight(rows[name], resources), name))[:MOST_ROWS])
    return MeasureTable(
        rows=[_row(name, row, resources) for name, row in rows.items() if name in kept],
        left_out=len(rows) - len(kept),
    )


def _weight(row: JobMeasures, resources: Sequence[ShownResource]) -> float:
    return max((row.utilisation[each.name] or 0.0 for each in resources), default=0.0)


def _row(name: str, row: JobMeasures, resources: Sequence[ShownResource]) -> MeasureRow:
    return MeasureRow(
        name=name,
        values=[column.find(row) for column in _OF_JOBS],
        by_resource={
            each.name: [
                _in_units(column, column.find(row, each.name), each) for column in _OF_RESOURCES
            ]
            for each in resources
        },
    )


def _in_units(column: _Column, value: Number, resource: ShownResource) -> Number:
    if value is None or column.form != "amount-time":
        return value
    return value / resource.scale / HOUR_MS
