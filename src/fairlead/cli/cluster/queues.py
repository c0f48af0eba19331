"""``fairlead queues``: the share tree, and what a change or the past does to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from fairlead.cli.cluster.queue_changes import (
    Changes,
    Side,
    changes_between,
    changes_of,
    print_changes,
)
from fairlead.cli.input.diff_option import CommandWithDiff, Diff, both_sides, diff_option
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
    print_each,
    shard_option,
)
from fairlead.cli.output.table import table_text
from fairlead.cli.past_use import PastUseReader, usage_options, usage_wish
from fairlead.explain.of_namespace import jobs_of, queues_of_namespace, report_of
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
from fairlead.model.axes import Axis
from fairlead.policy.contract import Settings

if TYPE_CHECKING:
    from fairlead.explain.usage.shares import PastUse

_TABLES: Final = ("table", "wide")
EPILOG = """\b
Examples:
  fairlead queues -f cluster/
  fairlead queues -f queues.yaml --capacity gpu=100,cpu=800,memory=4Ti -o wide
  fairlead queues -f cluster/ --usage
  fairlead queues -f nodes.yaml --diff old/ new/
  fairlead queues -f share-simulation.json -o json
  fairlead queues --context prod
  fairlead queues --context prod --diff change.yaml
  fairlead queues -A --watch
"""


@click.command(cls=CommandWithDiff, epilog=EPILOG)
@reads_input
@shard_option
@capacity_option
@diff_option("what differs, and which jobs are evicted, start or wait,")
@click.option(
    "--watch",
    is_flag=True,
    help="Show the queues of a cluster anew when they change, until Ctrl-C.",
)
@now_option
@usage_options
@output_option("table", "wide", "json", "yaml")
def command(
    asked: NamedInput,
    shard: str | None,
    capacity: str | None,
    diff: Diff,
    watch: bool,
    now: int,
    usage: bool,
    usage_source: str | None,
    output: str,
) -> None:
    """Show the tree of queues: what each has, requests and is entitled to.

    The rule set is taken from the objects; the capacity from the nodes among them.
    """
    if watch:
        _check_watching(asked, diff, output)
    wish = usage_wish(usage, usage_source, now)
    with closing(PastUseReader(wish, sums=True, in_background=watch)) as past:
        asking = Asking(asked.namespace, capacity, past, output)
        if watch:
            from fairlead.cli.cluster.watch_queues import watch_queues

            watch_queues(asked, shard, asking.print_queues)
        elif diff is None:
            (shards,) = shards_or_exit(asked.load(shard=shard, every_shard=True))
            asking.print_queues(shards, now)
        else:
            names, both = both_sides(asked, diff, shard)
            answers = ask_each(both, lambda each: asking.changes(names, each, now))
            print_changes(answers, output)


def _check_watching(asked: NamedInput, diff: Diff, output: str) -> None:
    if asked.cluster is None:
        raise click.UsageError(
            "--watch follows a cluster: name it with --context, or -A for the current one"
        )
    if diff is not None:
        raise click.UsageError("--watch and --diff exclude each other: leave out one of the two")
    if output not in _TABLES:
        raise click.UsageError("--watch prints tables: leave out -o, or choose -o wide")


class Asking(NamedTuple):
    """How the queues are asked about, whichever state they are in."""

    namespace: str | None
    capacity: str | None
    past: PastUseReader
    output: str

    def print_queues(self, shards: Sequence[Assembled], now_ms: int) -> None:
        """Print the queues of each shard, as of *now_ms*."""
        answers = ask_each(by_shard(shards), lambda each: self._answer(each, now_ms))
        settings = with_faithfulness(shards[0].settings, faithful=False)
        _print_reports(settings, answers, self.output)

    def changes(self, names: tuple[str, str], both: Both, now_ms: int) -> Changes:
        """Return what differs between two sides, which the user calls by *names*."""
        old, new = (
            Side(name, side, self._reported(side, now_ms).report)
            for name, side in zip(names, both, strict=True)
        )
        found = changes_between(old, new, now_ms, has_own_capacity=self.capacity is not None)
        return found if self.namespace is None else changes_of(found, self.namespace)

    def _answer(self, assembled: Assembled, now_ms: int) -> Reported:
        found = self._reported(assembled, now_ms)
        if self.namespace is None:
            return found
        queues = queues_of_namespace(assembled.state, assembled.settings, self.namespace)
        unjudged = {name: found.unjudged[name] for name in jobs_of(found.unjudged, self.namespace)}
        report = report_of(found.report, queues)
        empty = f"the namespace {self.namespace} uses no queue"
        return found._replace(report=report, unjudged=unjudged, empty=empty)

    def _reported(self, assembled: Assembled, now_ms: int) -> Reported:
        unjudged = rule_set_of(assembled.settings).unjudged(assembled.state)
        past = self.past.let_count(assembled, now_ms)
        return Reported(*_report(assembled, self.capacity, past), unjudged)


class Reported(NamedTuple):
    """The share tree, with history where that is asked for, and what else is known of it."""

    report: ShareReport
    past: PastUse | None
    unjudged: Unjudged
    empty: str = "no queue of the input is in its pool"  # to be said where there is none


def _report(
    assembled: Assembled, capacity: str | None, past: PastUse | None
) -> tuple[ShareReport, PastUse | None]:
    """Return the share tree, with history where that counts, and what is known of it."""
    given = read_capacity(capacity, assembled)
    state, settings = assembled.state, assembled.settings
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
    if output in _TABLES:
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
    report, past, unjudged, empty = found
    head = [f"policy {report.policy}; capacity: {capacity_text(report)}"]
    if past is not None:
        from fairlead.explain.usage.shares import past_use_text

        head.append(past_use_text(past))
    click.echo("\n".join(map(printable, head)) + "\n")
    table = _report_table(report, wide=wide)
    click.echo(table if report.queues else printable(empty))
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
