"""Results of simulations for programs: one document, or one long table."""

from collections.abc import Iterator
from typing import Any

from fairlead.sim.results.measure_table import COLUMNS, measure_rows
from fairlead.sim.results.read_result import StoredResult
from fairlead.store.text.entry_text import csv_line


def result_document(result: StoredResult) -> dict[str, Any]:
    """Return what every run was and came to; amounts are exact, in base units."""
    return {
        "apiVersion": "fairlead/v1",
        "kind": "SimulationResult",
        "scenario": result.about.scenario,
        "folder": str(result.folder),
        "complete": result.about.complete,
        "runs": [{"run": run.about, "summary": run.summary} for run in result.runs],
    }


def measure_lines(result: StoredResult) -> Iterator[str]:
    """Yield a line of CSV for every number of every run, the head first."""
    yield csv_line(("run", "variant", "seed", *COLUMNS))
    for run in result.runs:
        about = run.about
        for row in measure_rows(run.summary, about.resources):
            yield csv_line((about.name, about.variant, about.seed, *row))
