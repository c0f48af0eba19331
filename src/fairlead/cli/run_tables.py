"""What runs came to, in tables for people."""

from collections.abc import Iterator, Mapping, Sequence

from fairlead.cli.measure_columns import cell, cluster_columns, main_resource, queue_columns
from fairlead.cli.short_duration import short_duration
from fairlead.cli.table import table_text
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.stored_run import StoredRun


def runs_text(runs: Sequence[StoredRun]) -> str:
    """Return the tables of runs that differ in their seed alone: who got what, and was it fair."""
    abouts = [run.about for run in runs]
    summaries = [run.summary for run in runs]
    resource = main_resource(summaries)
    queues = list(_tree(abouts[0].parents))
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
    spans = {short_duration(about.end_ms - about.start_ms) for about in abouts}
    span = f", {spans.pop()}" if len(spans) == 1 else ""
    stopped = "" if all(about.complete for about in abouts) else ", stopped before its end"
    return f"{' '.join(told)}{settings}, {chance}{span}{stopped}"


def _tree(
    parents: Mapping[str, str | None], above: str | None = None, depth: int = 0
) -> Iterator[tuple[str, int]]:
    for name, parent in parents.items():
        if parent == above:
            yield name, depth
            yield from _tree(parents, name, depth + 1)
