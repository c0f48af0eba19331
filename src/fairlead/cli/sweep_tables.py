"""What a sweep came to: one row for each combination, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.cli.measure_columns import cell, cluster_columns, main_resource
from fairlead.cli.table import table_text
from fairlead.sim.measures.spread import Spread, spread
from fairlead.sim.measures.summary import Summary
from fairlead.sim.results.read_result import StoredResult
from fairlead.sim.sweep.combinations import Combination
from fairlead.store.text.entry_text import csv_line


def sweep_text(result: StoredResult, rows: Sequence[Combination]) -> str:
    """Return the table; a combination of which no run ended has none of its measures."""
    known = _summaries(result)
    resource = main_resource(list(known.values()))
    columns = cluster_columns(resource)
    head = ["VARIANT", *(name for name in rows[0].swept), *(column.title for column in columns)]
    lines = []
    for row in rows:
        summaries = _of(row, known)
        cells = [cell(column, summaries) for column in columns]
        lines.append([row.variant, *row.swept.values(), *cells])
    return table_text([head, *lines], left=1 + len(rows[0].swept))


def sweep_document(result: StoredResult, rows: Sequence[Combination]) -> dict[str, Any]:
    """Return every measure of every combination, as means over its seeds."""
    known = _summaries(result)
    return {
        "apiVersion": "fairlead/v1",
        "kind": "SweepResult",
        "scenario": result.about.scenario,
        "folder": str(result.folder),
        "complete": result.about.complete,
        "combinations": [
            {
                "variant": row.variant,
                "settings": row.swept,
                "runs": [name for name in row.runs if name in known],
                "measures": spread(_of(row, known)),
            }
            for row in rows
        ],
    }


def sweep_lines(result: StoredResult, rows: Sequence[Combination]) -> Iterator[str]:
    """Yield a line of CSV for every measure of every combination, the head first."""
    known = _summaries(result)
    fields = Spread.__struct_fields__
    yield csv_line(("variant", *rows[0].swept, *fields))
    for row in rows:
        for each in spread(_of(row, known)):
            numbers = (getattr(each, field) for field in fields)
            yield csv_line((row.variant, *row.swept.values(), *numbers))


def _summaries(result: StoredResult) -> dict[str, Summary]:
    return {run.about.name: run.summary for run in result.runs}


def _of(row: Combination, known: dict[str, Summary]) -> list[Summary]:
    return [known[name] for name in row.runs if name in known]
