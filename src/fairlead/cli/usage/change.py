"""``fairlead usage grant`` and ``forgive``: changes by an administrator, each with its reason."""

import time
from collections.abc import Collection, Iterator, Mapping

import click

from fairlead.cli.usage.amounts import read_resource_time
from fairlead.cli.usage.record import (
    audited,
    dated,
    find_record,
    moment_to_write,
    names_record,
    opened,
    read_name,
    read_reason,
    read_who,
    write_act,
)
from fairlead.errors import FairleadError
from fairlead.explain.text.measures import hours_text, hours_unit
from fairlead.explain.text.names import printable
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import QueueName
from fairlead.model.duration import moment_text
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Forgiven, Granted
from fairlead.usage.settings import DAY_MS

GRANT_EPILOG = """\b
Examples:
  fairlead usage grant --queue research gpu=100h --reason "node failure on Monday"
  fairlead usage grant --queue research --user ann gpu=-8h --reason "ran outside the queue"
  fairlead usage grant --queue research gpu=20h memory=64Gi*20h --reason "job was lost"
"""
FORGIVE_EPILOG = """\b
Examples:
  fairlead usage forgive --queue research -f cluster/ --reason "move to the new cluster"
  fairlead usage forgive --all --reason "new year"
"""

WHEN = "The time of the change, such as 2026-11-16T09:00:00Z; by default now."


@dated(WHEN)
@click.command(epilog=GRANT_EPILOG)
@click.argument("amounts", nargs=-1, required=True, metavar="RESOURCE=[AMOUNT*]TIME...")
@click.option(
    "--queue",
    required=True,
    metavar="QUEUE",
    callback=read_name,
    help="The queue to credit or charge.",
)
@click.option(
    "--user", default="", metavar="USER", callback=read_name, help="Count it for this user, too."
)
@audited()
@names_record
def grant(
    amounts: tuple[str, ...],
    queue: str,
    user: str,
    reason: str,
    who: str | None,
    store: str | None,
    files: tuple[str, ...],
    now: int,
) -> None:
    """Credit time to a queue, or charge it.

    A negative time is charged. gpu=100h is 100 hours of one GPU, or 50 hours of two. A grant
    decays, and leaves the window, as usage does.
    """
    name, why = read_who(who), read_reason(reason)
    found = find_record(store, files)
    with opened(found, writes=True) as record:
        at_ms = _moment(record, now)
        times = read_resource_time(amounts, record.resources)
        _note_unknown("queue", queue, record.queue_names())
        for resource in times:
            _note_unknown("resource", resource, record.resources)
        record.ensure_resources(list(times))
        write_act(
            record,
            Granted(
                at_ms=at_ms,
                queue=QueueName(queue),
                user=user,
                resource_time=tuple(-times.get(each, 0) for each in record.resources),
                who=name,
                reason=why,
            ),
        )
    whom = f"queue {queue}" + (f", user {user}" if user else "")
    for resource, value in times.items():
        done = "granted to" if value > 0 else "charged to"
        hours = f"{hours_text(resource, abs(value))} {hours_unit(resource)} of {resource}"
        click.echo(printable(f"{done} {whom}: {hours}"))


@dated(WHEN)
@click.command(epilog=FORGIVE_EPILOG)
@click.option(
    "--queue", metavar="QUEUE", callback=read_name, help="The queue whose recorded usage is reset."
)
@click.option("--all", "everybody", is_flag=True, help="Reset every queue.")
@audited()
@names_record
def forgive(
    queue: str | None,
    everybody: bool,
    reason: str,
    who: str | None,
    store: str | None,
    files: tuple[str, ...],
    now: int,
) -> None:
    """Reset the recorded usage of one or all queues.

    With the objects of -f, the usage of queues below it is reset, too. Earlier grants no longer
    count either. Nothing is deleted: the log and an export still show it.
    """
    if everybody == (queue is not None):
        raise click.UsageError("name what to reset: either --queue QUEUE or --all")
    name, why = read_who(who), read_reason(reason)
    found = find_record(store, files)
    with opened(found, writes=True) as record:
        at_ms = _moment(record, now)
        whose: list[QueueName | None] = [None]
        if queue is not None:
            whose = [*_with_those_below(QueueName(queue), found.parents, record.queue_names())]
        record.append([Forgiven(at_ms=at_ms, queue=each, who=name, reason=why) for each in whose])
    for each in whose:
        whom = "all queues" if each is None else f"queue {each}"
        below = "" if each in (None, queue) else f", which is below {queue}"
        click.echo(printable(f"reset the recorded usage of {whom}{below}"))


def _moment(record: UsageStore, now_ms: int) -> int:
    """Return when to write a change; refuse a moment in the middle of a record that is right.

    There it would be as if it had been done then, and mostly without any effect now.
    """
    newest_ms = record.newest_ms
    clock_ms = time.time_ns() // 10**6
    if newest_ms is not None and now_ms + DAY_MS < newest_ms <= clock_ms + DAY_MS:
        raise FairleadError(
            f"nothing was changed: the store has entries up to {moment_text(newest_ms)}, and "
            f"{moment_text(now_ms)} is more than a day before that; leave out --now"
        )
    return moment_to_write(record, now_ms)


def _with_those_below(
    queue: QueueName, parents: Mapping[QueueName, QueueName | None], known: Collection[QueueName]
) -> list[QueueName]:
    """Return *queue* and all queues below it with entries; note where the tree is unknown."""
    below = sorted(each for each in known if queue in _above(each, parents))
    if not below:
        _note_unknown("queue", queue, known)
    if queue not in parents:
        why = "without the objects of -f" if not parents else "the objects of -f lack it, so"
        what = f"which queues are below {queue}: only its own usage is reset"
        click.echo(printable(f"note: {why} it is unknown {what}"), err=True)
    return [queue, *below]


def _above(queue: QueueName, parents: Mapping[QueueName, QueueName | None]) -> Iterator[QueueName]:
    """The queues above *queue*, nearest first; objects with a circle were refused when read."""
    parent = parents.get(queue)
    while parent is not None:
        yield parent
        parent = parents.get(parent)


def _note_unknown(what: str, name: str, known: Collection[str]) -> None:
    """Tell of a queue or resource without a record: it may be new, but it may be a slip."""
    if name not in known:
        hint = did_you_mean(name, known)
        text = f"note: the store has no {what} {name}"
        click.echo(printable(f"{text}; {hint}" if hint else text), err=True)
