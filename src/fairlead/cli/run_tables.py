"""What runs came to, in tables for people."""

from collections.abc import Iterator, Mapping, Sequence

from fairlead.cli.measure_columns import cell, cluster_columns, main_resource, queue_columns
from fairlead.cli.table import table_text
from fairlead.explain.measure_text import length_text
from fairlead.explain.printable import printable
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.read_result import StoredRun


def runs_text(runs: Sequence[StoredRun]) -> str:
    """Return the tables of runs that differ in their seed alone: who got what, and was it fair."""
    abouts = [run.about for run in runs]
    summaries = [run.summary for run in runs]
    resource = main_resource(summaries)
    queues = list(tree(abouts[0].parents))
    head = ["QUEUE", *(column.title for column in queue_columns("", resource))]
    rows = [
        [
            "  " * depth + name,
            *(cell(column, summaries) for column in queue_columns(name, resource)),
        ]
        for name, depth in queues
    ]
    cluster = cluster_columns(resource)
    of_cluster = [
        ["CLUSTER", *(column.title for column in cluster)],
        ["", *(cell(column, summaries) for column in cluster)],
    ]
    tables = (table_text([head, *rows]), table_text(of_cluster))
    return "\n\n".join((_title(abouts), *tables))


def _title(abouts: Sequence[RunAbout]) -> str:
    first = abouts[0]
    seeds = [about.seed for about in abouts]
    chance = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds from {seeds[0]}"
    told = [first.scenario, f"under {first.variant}"]
    if first.variant != first.policy:
        told.append(f"({first.policy})")
    settings = "".join(f", {name}={text}" for name, text in first.settings.items())
    history = "" if first.history is None else f", history={first.history.short}"
    spans = {length_text(about.end_ms - about.start_ms) for about in abouts}
    span = f", {spans.pop()}" if len(spans) == 1 else ""
    stopped = "" if all(about.complete for about in abouts) else ", stopped before its end"
    return printable(f"{' '.join(told)}{settings}{history}, {chance}{span}{stopped}")


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
