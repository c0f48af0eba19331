"""``measures.csv``: the summary flat, a line for each number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fairlead.sim.measures.summary import Summary, flat_measures
from fairlead.sim.results.files import Cell, CsvFile

COLUMNS: Final = ("scope", "name", "measure", "resource", "value")


def write_measures(path: Path, summary: Summary, resources: tuple[str, ...]) -> None:
    """Write every number of *summary*; what is not defined is an empty cell."""
    table = CsvFile(path, COLUMNS)
    for row in measure_rows(summary, resources):
        table.add(row)
    table.close()


def measure_rows(summary: Summary, resources: tuple[str, ...]) -> Iterator[tuple[Cell, ...]]:
    """Yield every number with where it stands, in the columns of the table."""
    for (scope, name, path), value in flat_measures(summary):
        measure, resource = _without_resource(path, resources)
        yield scope, name, measure, resource, value


def _without_resource(path: str, resources: tuple[str, ...]) -> tuple[str, str]:
    """Take the name of a resource out of *path*, which may hold a slash itself."""
    for resource in resources:
        before, found, after = path.partition(f"/{resource}/")
        if found:
            return f"{before}/{after}", resource
        if path.endswith(f"/{resource}"):
            return path.removesuffix(f"/{resource}"), resource
    return path, ""
