"""``fairlead queues``: the share tree, and what a change of the objects does to it."""

from typing import Any

import click

from fairlead.cli.options import (
    capacity_option,
    load_files,
    now_option,
    output_option,
    read_capacity,
    reads_manifests,
    states_or_exit,
)
from fairlead.cli.queue_changes import Side, print_changes
from fairlead.cli.standard_input import read_standard_input
from fairlead.cli.table import table_text
from fairlead.explain.axis_order import by_interest
from fairlead.explain.printable import printable
from fairlead.explain.queue_answers import share_report
from fairlead.explain.share_report import (
    Cell,
    Column,
    QueueEntry,
    ShareReport,
    capacity_text,
    cell_text,
    report_document,
)
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult
from fairlead.model.axes import Axis

EPILOG = """\b
Examples:
  fairlead queues -f cluster/
  fairlead queues -f queues.yaml --capacity gpu=100,cpu=800,memory=4Ti -o wide
  fairlead queues -f nodes.yaml --diff old/ new/
  fairlead queues -f share-simulation.json -o json
"""


@click.command(epilog=EPILOG)
@reads_manifests
@capacity_option
@click.option(
    "--diff",
    nargs=2,
    type=click.Path(allow_dash=True),
    metavar="OLD NEW",
    help="Show what differs between two sets of objects, and who is evicted, starts or waits only "
    "with one of them; -f adds to both.",
)
@now_option
@output_option("table", "wide", "json", "yaml")
def command(
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    policy: Any,
    strict: bool,
    capacity: str | None,
    diff: tuple[str, str] | None,
    now: int,
    output: str,
) -> None:
    """Show the tree of queues with what each has, wants and is entitled to.

    The rule set is taken from the objects; the capacity from the nodes among them.
    """
    stdin = read_standard_input((*files, *more_files, *(diff or ())))

    def loaded(*also: str) -> LoadResult:
        return load_files((*files, *also), more_files, policy, strict=strict, stdin=stdin)

    def report(assembled: Assembled) -> ShareReport:
        given = read_capacity(capacity, assembled)
        return share_report(assembled.state, assembled.settings, given)

    if diff is None:
        (only,) = states_or_exit(loaded())
        _print_report(report(only), output)
        return
    both = states_or_exit(loaded(diff[0]), loaded(diff[1]))
    old, new = (Side(name, each, report(each)) for name, each in zip(diff, both, strict=True))
    if old.report.policy != new.report.policy:
        raise click.UsageError(
            f"{old.name} is for {old.report.policy} and {new.name} for {new.report.policy}: "
            "choose with --policy"
        )
    print_changes(old, new, now, output, has_own_capacity=capacity is not None)


def _print_report(report: ShareReport, output: str) -> None:
    if output in ("json", "yaml"):
        from fairlead.cli.output import print_document

        print_document(report_document(report), output)
        return
    click.echo(printable(f"policy {report.policy}; capacity: {capacity_text(report)}") + "\n")
    click.echo(_report_table(report, wide=output == "wide"))


def _report_table(report: ShareReport, *, wide: bool) -> str:
    """One block per resource, so that siblings stand below each other; every row has its queue."""
    own = [column for column in report.queue_columns if wide or not column.wide]
    axis = [column for column in report.axis_columns if wide or not column.wide]
    head = ("QUEUE", "RESOURCE", *(c.title for c in axis), *(c.title for c in own))
    blank = ("",) * len(head)
    blocks: dict[Axis, list[tuple[str, ...]]] = {}
    for entry in report.queues:
        for line in entry.lines:
            row = _row(entry, line.axis, line.cells, own, axis)
            blocks.setdefault(line.axis, []).append(row)
    without = [_row(entry, None, {}, own, axis) for entry in report.queues if not entry.lines]
    rows = [head]
    for block in filter(None, [*(blocks[each] for each in by_interest(blocks)), without]):
        rows.extend([*block, blank])
    return table_text(rows[:-1], left=2)


def _row(
    entry: QueueEntry,
    axis: Axis | None,
    cells: dict[str, Cell],
    own: list[Column],
    columns: list[Column],
) -> tuple[str, ...]:
    numbers = [cell_text(column, axis, cells.get(column.key)) for column in columns]
    return (
        "  " * entry.depth + entry.name,
        str(axis) if axis else "-",
        *(numbers if axis else ["" for _ in columns]),
        *(cell_text(column, None, entry.cells.get(column.key)) for column in own),
    )
