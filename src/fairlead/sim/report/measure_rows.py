"""The measures of a run as a table: its resources with their units, its columns and rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlead.model.quantity import is_gpu, is_memory_like, scale_of
from fairlead.sim.measures.summary import ClusterMeasures, JobMeasures, QueueMeasures, Summary
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
    """A column, and how a row's number is found, for one resource if it is by resource."""

    key: str
    title: str
    form: str
    meaning: str
    find: Callable[..., Any]


def _backlogged(field: str) -> Callable[[JobMeasures, str], Any]:
    def find(row: JobMeasures, resource: str) -> Any:
        if not isinstance(row, QueueMeasures):
            return None
        return getattr(row.backlogged[resource], field)

    return find


def _worst_deficit(row: JobMeasures, resource: str) -> int | None:
    match row:
        case ClusterMeasures():
            return row.worst_deficit[resource]
        case QueueMeasures():
            return row.backlogged[resource].worst_deficit
    return None


def _entitled(row: JobMeasures, resource: str) -> int | None:
    return row.entitled[resource] if isinstance(row, QueueMeasures | ClusterMeasures) else None


def _jain(row: JobMeasures, resource: str) -> float | None:
    return row.jain[resource] if isinstance(row, QueueMeasures | ClusterMeasures) else None


_OF_JOBS: Final = (
    _Column("submitted", "Jobs", "count", "jobs that came", lambda row: row.submitted),
    _Column("finished", "Done", "count", "jobs that are done", lambda row: row.finished),
    _Column(
        "unstarted", "Never started", "count", "jobs not started", lambda row: row.unstarted.jobs
    ),
    _Column("wait_mean", "Wait, mean", "ms", "first start - submission", lambda r: r.wait.mean_ms),
    _Column("wait_p50", "Wait, p50", "ms", "half waited no longer", lambda r: r.wait.p50_ms),
    _Column("wait_p90", "Wait, p90", "ms", "90 % waited no longer", lambda r: r.wait.p90_ms),
    _Column("wait_p99", "Wait, p99", "ms", "99 % waited no longer", lambda r: r.wait.p99_ms),
    _Column("wait_max", "Wait, longest", "ms", "no job waited longer", lambda r: r.wait.max_ms),
    _Column(
        "slowdown_mean",
        "Slowdown, mean",
        "ratio",
        "time in the system / run time, 10 s at least",
        lambda row: row.slowdown.mean,
    ),
    _Column(
        "finish_time_fairness",
        "Finish-time fairness",
        "ratio",
        "time taken / time with only what is due; below 1 is better than alone",
        lambda row: row.finish_time_fairness.mean,
    ),
    _Column(
        "makespan", "Makespan", "ms", "last finish - first submission", lambda row: row.makespan_ms
    ),
    _Column(
        "evicted",
        "Evictions",
        "count",
        "how often pods of a job were evicted for others",
        lambda row: row.preemptions["evicted"],
    ),
    _Column(
        "moved",
        "Moves",
        "count",
        "how often pods of a job got another place instead of theirs",
        lambda row: row.preemptions["moved"],
    ),
    _Column(
        "node_lost",
        "Node losses",
        "count",
        "how often pods of a job lost their places because a node was gone",
        lambda row: row.preemptions["node-lost"],
    ),
)
_OF_RESOURCES: Final = (
    _Column("allocated", "Got", "amount-time", "held", lambda r, name: r.allocated[name]),
    _Column("entitled", "Due", "amount-time", "entitled, from change to change", _entitled),
    _Column("utilisation", "Part of cluster", "percent", "", lambda r, name: r.utilisation[name]),
    _Column(
        "received_to_entitled",
        "Got of due while waiting",
        "percent",
        "received / entitled while it asked for more than it had",
        _backlogged("received_to_entitled"),
    ),
    _Column("backlogged", "Time waiting", "ms", "", _backlogged("span_ms")),
    _Column(
        "worst_deficit",
        "Worst deficit",
        "amount-time",
        "the furthest that it ever fell behind what was due",
        _worst_deficit,
    ),
    _Column("jain", "Jain index", "ratio", "1 is even, near 0 is all for few", _jain),
    _Column(
        "lost",
        "Lost work",
        "amount-time",
        "work that had to be done anew after evictions, moves and node losses",
        lambda row, name: row.lost[name],
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
