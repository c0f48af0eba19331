"""``fairlead queues``: the share tree, and what a change or the past does to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from fairlead.cli.cluster.queue_changes import Changes, Side, changes_between, print_changes
from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import (
    capacity_option,
    now_option,
    output_option,
    read_capacity,
    shards_or_exit,
    with_faithfulness,
)
from fairlead.cli.input.shards import (
    Answered,
    Both,
    ask_each,
    by_shard,
    in_both,
    print_each,
    shard_option,
)
from fairlead.cli.output.table import table_text
from fairlead.cli.past_use import UsageWish, let_past_count, usage_options, usage_wish
from fairlead.explain.plan.incomplete import Unjudged, incomplete_document, incomplete_text
from fairlead.explain.queues.report import (
    Cell,
    Column,
    QueueEntry,
    ShareReport,
    capacity_text,
    cell_text,
    report_document,
    shares_document,
)
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult
from fairlead.model.axes import Axis
from fairlead.policy.contract import Settings

if TYPE_CHECKING:
    from fairlead.explain.usage.shares import PastUse

EPILOG = """\b
Examples:
  fairlead queues -f cluster/
  fairlead queues -f queues.yaml --capacity gpu=100,cpu=800,memory=4Ti -o wide
  fairlead queues -f cluster/ --usage
  fairlead queues -f nodes.yaml --diff old/ new/
  fairlead queues -f share-simulation.json -o json
"""


@click.command(epilog=EPILOG)
@reads_input
@shard_option
@capacity_option
@click.option(
    "--diff",
    nargs=2,
    type=click.Path(allow_dash=True),
    metavar="OLD NEW",
    help="Show what differs between two sets of objects, and which jobs are evicted, start or wait "
    "with only one of them; -f adds to both.",
)
@now_option
@usage_options
@output_option("table", "wide", "json", "yaml")
def command(
    asked: NamedInput,
    shard: str | None,
    capacity: str | None,
    diff: tuple[str, str] | None,
    now: int,
    usage: bool,
    usage_source: str | None,
    output: str,
) -> None:
    """Show the tree of queues: what each has, requests and is entitled to.

    The rule set is taken from the objects; the capacity from the nodes among them.
    """

    def loaded(*changes: str) -> LoadResult:
        return asked.load(*changes, shard=shard, every_shard=True)

    wish = usage_wish(usage, usage_source, now)
    if diff is None:
        (shards,) = shards_or_exit(loaded())
        answers = ask_each(by_shard(shards), lambda each: _reported(each, capacity, wish))
        _print_reports(with_faithfulness(shards[0].settings, faithful=False), answers, output)
        return
    both = in_both(diff, *shards_or_exit(loaded(diff[0]), loaded(diff[1])))

    def changes(each: Both) -> Changes:
        old, new = (
            Side(name, side, _reported(side, capacity, wish).report)
            for name, side in zip(diff, each, strict=True)
        )
        return changes_between(old, new, now, has_own_capacity=capacity is not None)

    print_changes(ask_each(both, changes), output)


class Reported(NamedTuple):
    """The share tree, with history where that is asked for, and what else is known of it."""

    report: ShareReport
    past: PastUse | None
    unjudged: Unjudged


def _reported(assembled: Assembled, capacity: str | None, wish: UsageWish) -> Reported:
    unjudged = rule_set_of(assembled.settings).unjudged(assembled.state)
    return Reported(*_report(assembled, capacity, wish), unjudged)


def _report(
    assembled: Assembled, capacity: str | None, wish: UsageWish
) -> tuple[ShareReport, PastUse | None]:
    """Return the share tree, with history where that is asked for, and what is known of it."""
    given = read_capacity(capacity, assembled)
    state, settings = assembled.state, assembled.settings
    past = let_past_count(assembled, wish, sums=True)
    rules = rule_set_of(settings)
    report = rules.share_report(state, settings, given)
    without = rules.without_history(settings)
    if past is None or without is None:
        return report, None
    from fairlead.explain.usage.shares import with_past_use

    plain = rules.share_report(state, without, given)
    return with_past_use(report, plain, past), past


def _print_reports(settings: Settings, answers: Sequence[Answered[Reported]], output: str) -> None:
    rules = rule_set_of(settings)
    if output in ("table", "wide"):
        click.echo(rules.rules_text(settings, option="plan --faithful"))
        print_each(answers, lambda found: _print_report(found, wide=output == "wide"))
        return
    from fairlead.cli.output.document import print_document

    documents = [each.document(_document) for each in answers]
    print_document(report_document(rules.rules_document(settings), documents), output)


def _document(found: Reported) -> dict[str, object]:
    incomplete = incomplete_document(found.unjudged)
    document = {**shares_document(found.report), "incomplete": incomplete}
    if found.past is None:
        return document
    from fairlead.explain.usage.shares import past_use_document

    return {**document, "usage": past_use_document(found.past)}


def _print_report(found: Reported, *, wide: bool) -> None:
    report, past, unjudged = found
    head = [f"policy {report.policy}; capacity: {capacity_text(report)}"]
    if past is not None:
        from fairlead.explain.usage.shares import past_use_text

        head.append(past_use_text(past))
    click.echo("\n".join(map(printable, head)) + "\n")
    table = _report_table(report, wide=wide)
    click.echo(table if report.queues else "no queue of the input is in its pool")
    if incomplete := incomplete_text(unjudged):
        click.echo("\n" + printable(f"{incomplete}: what they request is in the numbers"))


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
    return table_text(rows[:-1], left=2, wide=wide)


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
