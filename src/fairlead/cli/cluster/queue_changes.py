"""What a change of the objects does, to queues and to jobs, as a table or for programs."""

from collections.abc import Sequence
from typing import NamedTuple

import click

from fairlead.cli.cluster.plan_changes import decisions_table
from fairlead.cli.input.options import check_plannable, with_faithfulness
from fairlead.cli.input.shards import Answered, print_each
from fairlead.cli.output.table import table_text
from fairlead.errors import FairleadError
from fairlead.explain.of_namespace import plan_of, queues_of_namespace
from fairlead.explain.plan.diff import (
    Planned,
    plan_changes,
    plan_changes_document,
)
from fairlead.explain.queues.diff import Change, changes_document, share_changes
from fairlead.explain.queues.report import ShareReport, capacity_text, cell_text
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.policy.contract import make_policy


class Side(NamedTuple):
    """One of the two inputs: how the user named it, and what was read and made of it."""

    name: str
    assembled: Assembled
    report: ShareReport


class Changes(NamedTuple):
    """What differs between the two; ``plans`` is None where not both can be planned."""

    old: Side
    new: Side
    shares: list[Change]
    plans: tuple[Planned, Planned] | None


def changes_between(old: Side, new: Side, now_ms: int, *, has_own_capacity: bool) -> Changes:
    """Compare the numbers of queues, and the decisions about jobs as of *now_ms*.

    Decisions are compared where both can be planned; else a note says why not.
    """
    obstacle = _obstacle(old, new, has_own_capacity=has_own_capacity)
    if obstacle is not None:
        click.echo(printable(f"note: decisions about jobs are not compared: {obstacle}"), err=True)
    plans = None if obstacle else (_planned(old.assembled, now_ms), _planned(new.assembled, now_ms))
    return Changes(old, new, share_changes(old.report, new.report), plans)


def changes_of(found: Changes, namespace: str) -> Changes:
    """Return the changes of the queues that *namespace* submits to, and of its jobs."""
    queues = {
        queue
        for side in (found.old, found.new)
        for queue in queues_of_namespace(side.assembled.state, side.assembled.settings, namespace)
    }
    plans = found.plans
    if plans is not None:
        old, new = (Planned(each.state, plan_of(each.plan, namespace)) for each in plans)
        plans = old, new
    shares = [each for each in found.shares if each.queue in queues]
    return found._replace(shares=shares, plans=plans)


def print_changes(answers: Sequence[Answered[Changes]], output: str) -> None:
    """Print what differs in each shard: numbers of queues, then decisions about jobs."""
    first = next(each.answer for each in answers if each.answer is not None)
    settings = first.new.assembled.settings
    rules = rule_set_of(settings)
    if output in ("table", "wide"):
        click.echo(f"{rules.rules_text(settings, option='plan --faithful')}\n")
        print_each(answers, lambda found: _print_tables(found, wide=output == "wide"))
        return
    from fairlead.cli.output.document import print_document

    head = {"apiVersion": "fairlead/v1", "kind": "QueueShareChanges", "policy": rules.name}
    modes = rules.rules_document(settings)
    shards = [each.document(_document) for each in answers]
    print_document({**head, "rules": modes, "shards": shards}, output)


def _document(found: Changes) -> dict[str, object]:
    old, new, shares, plans = found
    decisions = plan_changes_document(*plans, plan_changes(*plans)) if plans else None
    return {**changes_document(old.report, new.report, shares), "decisions": decisions}


def _print_tables(found: Changes, *, wide: bool) -> None:
    old, new, shares, plans = found
    if old.report.capacity != new.report.capacity:
        both = f"{capacity_text(old.report)} -> {capacity_text(new.report)}"
        click.echo(printable(f"capacity: {both}") + "\n")
    shown = [each for each in shares if wide or not each.column.wide]
    click.echo(_shares_table(shown, wide=wide))
    if plans:
        where = rule_set_of(new.assembled.settings).places_title
        click.echo("\n" + decisions_table(plan_changes(*plans), where, wide=wide))


def _obstacle(old: Side, new: Side, *, has_own_capacity: bool) -> str | None:
    """Say why no plan can be made for one of the two; None: both can be planned."""
    if has_own_capacity:
        return "--capacity replaces the nodes, and a plan needs the nodes themselves"
    for side in (old, new):
        try:
            check_plannable(side.assembled)
        except FairleadError as refusal:
            return f"{side.name}: {refusal}"
    return None


def _planned(assembled: Assembled, now_ms: int) -> Planned:
    """Return the input with the plan that ``fairlead plan`` shows for it."""
    policy = make_policy(with_faithfulness(assembled.settings, faithful=False))
    return Planned(assembled.state, policy.plan(assembled.state, now_ms))


def _shares_table(changes: list[Change], *, wide: bool) -> str:
    if not changes:
        return "no queue's numbers differ"
    head = ("QUEUE", "", "RESOURCE", "NUMBER", "OLD", "NEW")
    return table_text([head, *map(_share_row, changes)], left=4, wide=wide)


def _share_row(change: Change) -> tuple[str, ...]:
    old = cell_text(change.column, change.axis, change.old) if change.fate != "added" else ""
    new = cell_text(change.column, change.axis, change.new) if change.fate != "removed" else ""
    fate = "" if change.fate == "changed" else change.fate
    axis = str(change.axis) if change.axis else "-"
    return (change.queue, fate, axis, change.column.title.lower(), old, new)
