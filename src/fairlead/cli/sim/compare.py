"""``fairlead compare``: the same work under different rules or settings."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from fairlead.cli.input.options import NamedPath, output_option
from fairlead.cli.output.table import csv_line, table_text
from fairlead.explain.text.measures import change_text, measure_text
from fairlead.explain.text.names import printable
from fairlead.explain.text.whole_file import write_whole
from fairlead.policy.contract import POLICY_NAMES
from fairlead.sim.report.report_page import ShownResource
from fairlead.sim.report.sides import (
    ComparedRow,
    Comparison,
    Side,
    compare,
    sides_of,
    with_names,
)
from fairlead.sim.report.verdicts import Estimate
from fairlead.sim.results.read_result import read_result

EPILOG = f"""\b
Examples:
  fairlead compare results/a-busy-day
  fairlead compare results/today results/tomorrow --to compare.html
  fairlead compare results/a-busy-day:{POLICY_NAMES[0]} results/a-busy-day:{POLICY_NAMES[1]}
  fairlead compare results/today results/tomorrow -o csv > compare.csv
"""
CSV_COLUMNS = (
    "scope name measure resource side mean low high runs "
    "difference difference_low difference_high pairs verdict"
).split()

AT_LEAST_MARK = ">="


@click.command(epilog=EPILOG)
@click.argument("results", nargs=-1, required=True, metavar="RESULT[:VARIANT]...")
@click.option(
    "--to",
    "file",
    type=NamedPath(dir_okay=False),
    metavar="FILE",
    help="Write the comparison there too, as one page that opens in any browser.",
)
@output_option("table", "wide", "json", "yaml", "csv")
def command(results: tuple[str, ...], file: str | None, output: str) -> None:
    """Compare simulations of the same work under different rules or settings.

    Each RESULT is a folder that fairlead simulate has written; each of its variants is a side, or
    only the one that is named. All sides are compared with the first, each seed with itself. With
    several seeds a difference has an interval of 95 %; with one, it may be chance.
    """
    comparison = compare(with_names([each for name in results for each in _sides(name)]))
    if file is not None:
        _write_page(comparison, Path(file))
    match output:
        case "table" | "wide":
            _print_table(comparison, wide=output == "wide")
        case "csv":
            _print_csv(comparison)
        case _:
            from fairlead.cli.output.document import print_document

            head = {"apiVersion": "fairlead/v1", "kind": "Comparison"}
            body = {name: getattr(comparison, name) for name in comparison.__struct_fields__}
            print_document({**head, **body}, output)


def _sides(name: str) -> list[tuple[str, Side]]:
    """Read one result; what stands after its last colon is a variant, unless it is in its name."""
    folder, colon, variant = name.rpartition(":")
    if not colon or Path(name).exists():
        folder, variant = name, ""
    return [(folder, side) for side in sides_of(folder, read_result(folder).runs, variant or None)]


def _write_page(comparison: Comparison, file: Path) -> None:
    from fairlead.web.page.write_page import write_page

    page = write_page("compare", f"{comparison.scenario}: comparison", comparison)
    write_whole(file, [page])
    click.echo(f"written: {file}", err=True)


def _print_table(comparison: Comparison, *, wide: bool) -> None:
    sides, seeds = comparison.sides, comparison.seeds
    listed = ", ".join(map(str, seeds))
    same = f"{comparison.scenario}: the same work on {len(sides)} sides, seeds {listed}"
    click.echo(printable(same))
    click.echo(printable(f"differences are from {sides[0].name}") + "\n")
    heads = ["OF", "MEASURE", "RESOURCE", sides[0].name]
    for side in sides[1:]:
        heads += [side.name, "DIFFERENCE", "95% INTERVAL", "VERDICT"]
    rows: list[Sequence[str]] = [heads]
    resources = {each.name: each for each in comparison.resources}
    before = ""
    for row in comparison.rows:
        if row.name != before:
            rows.append([""] * len(heads))
        before = row.name
        resource = resources.get(row.resource)
        rows.append(_cells(row, resource, is_random=comparison.is_random))
    click.echo(table_text(rows, left=3, wide=wide))
    _print_notes(comparison)


def _cells(row: ComparedRow, resource: ShownResource | None, *, is_random: bool) -> list[str]:
    def text(value: float | None) -> str:
        return measure_text(row.form, value, resource)

    def change(value: float | None) -> str:
        return change_text(row.form, value, resource)

    means = [
        f"{AT_LEAST_MARK} {text(side.mean)}" if is_bound else text(side.mean)
        for side, is_bound in zip(row.sides, row.at_least, strict=True)
    ]
    cells = [row.name or "cluster", row.title, row.resource, means[0]]
    for mean, difference, verdict in zip(means[1:], row.differences, row.verdicts, strict=True):
        said = "" if verdict == "one seed" else verdict  # a note says it once
        interval = _interval(difference, change) if is_random else ""
        cells += [mean, change(difference.mean), interval, said]
    return cells


def _interval(difference: Estimate, text: Callable[[float | None], str]) -> str:
    if difference.low is None or difference.high is None:
        return ""
    return f"{text(difference.low)} ... {text(difference.high)}"


def _print_notes(comparison: Comparison) -> None:
    notes = list(_notes(comparison))
    if notes:
        click.echo("\n" + "\n".join(notes))
    if comparison.queues_left_out:
        click.echo(f"note: {comparison.queues_left_out} more queues are left out", err=True)
    if comparison.seeds_remark is not None:
        click.echo(f"note: {comparison.seeds_remark}", err=True)


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield what marks and verdicts of the table mean, of those that are in it."""
    if comparison.is_random and len(comparison.seeds) > 1:
        yield "better, worse: the interval does not contain 0; by chance one row of twenty"
    if any(any(row.at_least) for row in comparison.rows):
        yield f"{AT_LEAST_MARK}: jobs that never started count with their age at the end"
    if any("unclear" in row.verdicts for row in comparison.rows):
        yield "unclear: the side that seems better left more jobs unstarted"


def _print_csv(comparison: Comparison) -> None:
    click.echo(csv_line(CSV_COLUMNS), nl=False)
    first = Estimate(mean=None, low=None, high=None, runs=0)  # is compared with nothing
    for row in comparison.rows:
        differences = [first, *row.differences]
        verdicts = ["", *row.verdicts]
        columns = zip(comparison.sides, row.sides, differences, verdicts, strict=True)
        for about, side, difference, verdict in columns:
            head = (row.scope, row.name, row.measure, row.resource, about.name)
            own = (side.mean, side.low, side.high, side.runs)
            more = (difference.mean, difference.low, difference.high, difference.runs)
            click.echo(csv_line([*head, *own, *more, verdict]), nl=False)
