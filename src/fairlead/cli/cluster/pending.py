"""``fairlead pending``: the workloads that wait in a queue, and their positions."""

import click

from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import (
    now_option,
    output_option,
    states_or_exit,
    with_faithfulness,
)
from fairlead.cli.output.table import table_text
from fairlead.explain.named import find_named_in
from fairlead.explain.of_namespace import pending_of
from fairlead.explain.plan.incomplete import incomplete_document, incomplete_text
from fairlead.explain.queues.report import PendingReport
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.names import printable

EPILOG = """\b
Examples:
  fairlead pending vision -f cluster/
  fairlead pending team-vision/jobs -f cluster/
  fairlead pending job/team-vision/train -f cluster/
  fairlead pending vision -f cluster/ --limit 10 --offset 20 -o json
  fairlead pending jobs --context prod -n team-vision
"""


@click.command(epilog=EPILOG)
@click.argument("name", metavar="QUEUE|JOB|OBJECT")
@reads_input
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Show at most N workloads.",
)
@click.option(
    "--offset",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Leave out the first N.",
)
@now_option
@output_option("table", "wide", "json", "yaml")
def command(
    name: str,
    asked: NamedInput,
    limit: int,
    offset: int,
    now: int,
    output: str,
) -> None:
    """List the workloads that wait in a queue, in queue order.

    Of a LocalQueue, named NAMESPACE/NAME, only what came through it is shown; of a Workload, or a
    pod, a Job or another owner, only its own position. Names are those of fairlead explain.
    Positions are counted from 0, in the ClusterQueue and in the LocalQueue.
    """
    (assembled,) = states_or_exit(asked.load())
    settings = with_faithfulness(assembled.settings, faithful=False)
    rules = rule_set_of(settings)
    named = find_named_in(assembled, name, asked.namespace)
    report = rules.pending(assembled.state, settings, named, now)
    if asked.namespace is not None:
        report = pending_of(report, asked.namespace)
    shown = {*report.workloads}
    unjudged = {k: v for k, v in rules.unjudged(assembled.state).items() if k in shown}
    if report.note is not None:
        click.echo(printable(f"note: {report.note}"), err=True)
    page = slice(offset, offset + limit)
    if output in ("json", "yaml"):
        from fairlead.cli.output.document import print_document

        document = {**report.document, "items": report.items[page]}
        if unjudged:
            document["incomplete"] = incomplete_document(unjudged)
        print_document(document, output)
        return
    click.echo(f"{rules.rules_text(settings, option='plan --faithful')}\n")
    click.echo(_table(name, report, page, wide=output == "wide"))
    if incomplete := incomplete_text(unjudged):
        click.echo(printable(f"{incomplete}; plans start none of them"))


def _table(name: str, report: PendingReport, page: slice, *, wide: bool) -> str:
    waiting, shown = len(report.rows), report.rows[page]
    if not waiting:
        return printable(f"nothing waits in {name}")
    total = f"shown: {len(shown)} of {waiting}"
    if not shown:
        return total
    return f"{table_text([report.head, *shown], left=report.words, wide=wide)}\n\n{total}"
