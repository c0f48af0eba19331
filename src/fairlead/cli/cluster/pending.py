"""``fairlead pending``: who waits in a queue of Kueue, and at which place."""

from typing import Any

import click

from fairlead.cli.input.options import (
    load_files,
    now_option,
    output_option,
    reads_manifests,
    states_or_exit,
)
from fairlead.cli.output.table import table_text
from fairlead.errors import FairleadError
from fairlead.explain.kueue.pending import (
    PendingWorkload,
    created_text,
    pending_document,
    pending_queue,
    pending_workloads,
    short_local_queue,
)
from fairlead.explain.text.names import printable
from fairlead.policy.kueue.settings import KueueSettings

EPILOG = """\b
Examples:
  fairlead pending vision -f cluster/
  fairlead pending team-vision/jobs -f cluster/
  fairlead pending vision -f cluster/ --limit 10 --offset 20 -o json
"""

HEAD = ("WORKLOAD", "LOCAL-QUEUE", "CREATED", "PRIORITY", "POSITION", "LOCAL-POSITION")


@click.command(epilog=EPILOG)
@click.argument("queue", metavar="QUEUE")
@reads_manifests
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
@output_option("table", "json", "yaml")
def command(
    queue: str,
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    policy: Any,
    strict: bool,
    limit: int,
    offset: int,
    now: int,
    output: str,
) -> None:
    """Show who waits in a queue of Kueue, in its order.

    QUEUE is a ClusterQueue, or as NAMESPACE/NAME a LocalQueue: then only what came through it is
    shown. Positions are counted from 0, in the ClusterQueue and in the LocalQueue.
    """
    (assembled,) = states_or_exit(load_files(files, more_files, policy, strict=strict))
    settings = assembled.settings
    if not isinstance(settings, KueueSettings):
        raise FairleadError(
            f"the objects are of {assembled.policy}, and only Kueue's workloads wait in numbered "
            "places; fairlead plan shows who waits"
        )
    state = assembled.state
    named = pending_queue(state, queue)
    if named.local_queue is not None and state.catalogue.local_queues[named.local_queue].stopped:
        click.echo(f"note: {printable(queue)} is stopped, so nothing of it is in line", err=True)
    everybody = pending_workloads(state, settings, named, now)
    shown = everybody[offset : offset + limit]
    if output != "table":
        from fairlead.cli.output.document import print_document

        print_document(pending_document(shown), output)
        return
    click.echo(_table(queue, shown, waiting=len(everybody)))


def _table(queue: str, shown: list[PendingWorkload], *, waiting: int) -> str:
    if not waiting:
        return printable(f"nothing waits in {queue}")
    total = f"shown: {len(shown)} of {waiting}"
    if not shown:
        return total
    return f"{table_text([HEAD, *map(_row, shown)], left=3)}\n\n{total}"


def _row(entry: PendingWorkload) -> tuple[str, ...]:
    return (
        entry.workload,
        short_local_queue(entry),
        created_text(entry),
        str(entry.priority),
        str(entry.position_in_cluster_queue),
        str(entry.position_in_local_queue),
    )
