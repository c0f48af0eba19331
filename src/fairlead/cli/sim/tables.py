"""The results of runs in tables: measures of each queue and of the cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairlead.cli.output.table import table_text, wrapped
from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.measures import hours_unit, length_text, resource_hours
from fairlead.explain.text.names import printable
from fairlead.model.axes import Axis
from fairlead.model.quantity import is_gpu
from fairlead.sim.measures.spread import interval
from fairlead.sim.measures.summary import JobMeasures, Summary
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.read_result import StoredRun


class Column(NamedTuple):
    """One measure: what it is of a run, and how it is written."""

    title: str
    number: Callable[[Summary], float | None]
    text: Callable[[float], str]
    is_bound: Callable[[Summary], bool] | None = None  # whether it is a lower bound; None: never


def cell(column: Column, summaries: Sequence[Summary]) -> str:
    """Return the mean over the runs in which it is defined, and how sure it is.

    A mean of numbers of which one is a lower bound is a lower bound itself.
    """
    known = [float(each) for each in map(column.number, summaries) if each is not None]
    found = interval(known)
    if found.mean is None:
        return "-"
    text = column.text(found.mean)
    if column.is_bound is not None and any(map(column.is_bound, summaries)):
        text = f">= {text}"
    if found.high is None or found.high == found.mean:
        return text  # one run, or all the same
    return f"{text} ±{column.text(found.high - found.mean)}"


def main_resource(summaries: Sequence[Summary]) -> str | None:
    """Return the resource to show: the most interesting one of which something was used."""
    held = [
        resource
        for summary in summaries
        for resource, amount in summary.of_cluster.allocated.items()
        if amount
    ]
    for axis in by_interest(Axis(resource) for resource in held):
        return axis.resource
    return None


def has_moves(summaries: Sequence[Summary]) -> bool:
    """Return whether pods of any job were moved."""
    return any(summary.of_cluster.preemptions["moved"] for summary in summaries)


def queue_columns(queue: str, resource: str | None, *, with_moves: bool) -> list[Column]:
    """Return what is shown of one queue and all beneath it."""

    def of(number: Callable[[JobMeasures], float | None]) -> Callable[[Summary], float | None]:
        return lambda summary: number(summary.of_queues[queue])

    columns = [
        Column("JOBS", of(lambda jobs: jobs.submitted), _count),
        Column("DONE", of(lambda jobs: jobs.finished), _count),
        *_wait_columns(lambda summary: summary.of_queues[queue]),
    ]
    if resource is not None:
        name = short_name(resource)
        columns += [
            Column(f"{name} HELD", of(lambda jobs: jobs.utilisation[resource]), _percent),
            Column(f"{name} GOODPUT", of(lambda jobs: jobs.goodput[resource]), _percent),
            Column(f"{name} DUE", lambda summary: _due(summary, queue, resource), _percent),
        ]
    columns.append(Column("EVICTED", of(lambda jobs: jobs.preemptions["evicted"]), _count))
    if with_moves:
        columns.append(Column("MOVED", of(lambda jobs: jobs.preemptions["moved"]), _count))
    if resource is None:
        return columns
    unit = hours_unit(resource)
    columns.append(Column(f"LOST {unit}", of(lambda jobs: _hours(jobs.lost, resource)), _decimal))
    if with_moves:
        by_moves = of(lambda jobs: _hours(jobs.lost_by_cause["moved"], resource))
        columns.append(Column(f"LOST BY MOVES {unit}", by_moves, _decimal))
    return columns


def cluster_columns(resource: str | None) -> list[Column]:
    """Return what is shown of the cluster."""
    columns = [
        Column("JOBS", lambda summary: summary.of_cluster.submitted, _count),
        Column("DONE", lambda summary: summary.of_cluster.finished, _count),
        *_wait_columns(lambda summary: summary.of_cluster),
        Column("MAKESPAN", lambda summary: summary.of_cluster.makespan_ms, length_text),
        Column("EVICTED", lambda summary: summary.of_cluster.preemptions["evicted"], _count),
        Column("MOVED", lambda summary: summary.of_cluster.preemptions["moved"], _count),
        Column("NODE LOST", lambda summary: summary.of_cluster.preemptions["node-lost"], _count),
    ]
    if resource is None:
        return columns
    unit = hours_unit(resource)
    return [
        *columns,
        Column(f"LOST {unit}", lambda each: _hours(each.of_cluster.lost, resource), _decimal),
        Column(
            f"{short_name(resource)} USED",
            lambda summary: summary.of_cluster.utilisation[resource],
            _percent,
        ),
        Column(
            f"{short_name(resource)} GOODPUT",
            lambda summary: summary.of_cluster.goodput[resource],
            _percent,
        ),
        Column("JAIN", lambda summary: summary.of_cluster.jain[resource], _ratio),
        Column(
            f"WORST DEFICIT {unit}",
            lambda summary: _hours(summary.of_cluster.worst_deficit, resource),
            _decimal,
        ),
    ]


def _wait_columns(jobs_of: Callable[[Summary], JobMeasures]) -> list[Column]:
    """Return the waits, which are lower bounds where a job never started."""

    def is_bound(summary: Summary) -> bool:
        return jobs_of(summary).unstarted.jobs > 0

    def mean_ms(summary: Summary) -> float | None:
        return jobs_of(summary).wait_at_least.mean_ms

    def p90_ms(summary: Summary) -> float | None:
        return jobs_of(summary).wait_at_least.p90_ms

    return [
        Column("MEAN WAIT", mean_ms, length_text, is_bound),
        Column("P90 WAIT", p90_ms, length_text, is_bound),
    ]


def short_name(resource: str) -> str:
    """Return how a column calls *resource*."""
    return "GPU" if is_gpu(resource) else resource.rpartition("/")[2].upper()


def _due(summary: Summary, queue: str, resource: str) -> float | None:
    capacity = summary.of_cluster.capacity[resource]
    return summary.of_queues[queue].entitled[resource] / capacity if capacity else None


def _hours(amounts: Mapping[str, int | None], resource: str) -> float | None:
    amount = amounts[resource]
    return None if amount is None else float(resource_hours(resource, amount))


def _count(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def _percent(number: float) -> str:
    return f"{number:.1%}"


def _decimal(number: float) -> str:
    return f"{number:,.1f}"


def _ratio(number: float) -> str:
    return f"{number:.3f}"


def runs_text(runs: Sequence[StoredRun], *, wide: bool) -> str:
    """Return the tables of runs that differ in their seed alone: of its queues and of the cluster.

    They fit the terminal unless *wide*.
    """
    abouts = [run.about for run in runs]
    summaries = [run.summary for run in runs]
    resource = main_resource(summaries)
    moves = has_moves(summaries)
    head = ["QUEUE", *(each.title for each in queue_columns("", resource, with_moves=moves))]
    rows = []
    for name, depth in tree(abouts[0].parents):
        columns = queue_columns(name, resource, with_moves=moves)
        rows.append(["  " * depth + name, *(cell(column, summaries) for column in columns)])
    cluster = cluster_columns(resource)
    of_cluster = [
        ["CLUSTER", *(column.title for column in cluster)],
        ["", *(cell(column, summaries) for column in cluster)],
    ]
    tables = (table_text([head, *rows], wide=wide), table_text(of_cluster, wide=wide))
    return "\n\n".join((wrapped(_title(abouts), wide=wide), *tables))


def _title(abouts: Sequence[RunAbout]) -> str:
    first = abouts[0]
    seeds = [about.seed for about in abouts]
    chance = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds from {seeds[0]}"
    words = [first.scenario, f"under {first.variant}"]
    if first.variant != first.policy:
        words.append(f"({first.policy})")
    settings = "".join(f", {name}={text}" for name, text in first.settings.items())
    history = "" if first.history is None else f", history={first.history.short}"
    spans = {length_text(about.end_ms - about.start_ms) for about in abouts}
    span = f", {spans.pop()}" if len(spans) == 1 else ""
    stopped = "" if all(about.complete for about in abouts) else ", stopped before its end"
    return printable(f"{' '.join(words)}{settings}{history}, {chance}{span}{stopped}")


def tree(parents: Mapping[str, str | None]) -> Iterator[tuple[str, int]]:
    """Yield each queue and how deep it is, those below it right after; however deep that is."""
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    waiting = [(name, 0) for name in reversed(children.get(None, []))]
    while waiting:
        name, depth = waiting.pop()
        yield name, depth
        waiting += [(each, depth + 1) for each in reversed(children.get(name, []))]
