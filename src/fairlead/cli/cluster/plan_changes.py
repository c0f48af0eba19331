"""What a change of the objects does to jobs, as a table or for programs."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import click

from fairlead.cli.input.shards import Answered, print_each
from fairlead.cli.output.table import table_text
from fairlead.explain.plan.diff import PlanChange, Planned, plan_changes, plan_changes_document
from fairlead.explain.rule_set import rule_set_of
from fairlead.policy.contract import Settings


class BothPlans(NamedTuple):
    """The plans for one shard before and after a change."""

    before: Planned
    after: Planned


def print_plan_changes(
    settings: Settings, answers: Sequence[Answered[BothPlans]], output: str
) -> None:
    """Print for each shard the jobs about which the two plans do not decide the same."""
    rules = rule_set_of(settings)
    if output in ("table", "wide"):
        click.echo(f"{rules.rules_text(settings)}\n")
        where, wide = rules.places_title, output == "wide"
        print_each(
            answers, lambda both: click.echo(decisions_table(plan_changes(*both), where, wide=wide))
        )
        return
    from fairlead.cli.output.document import print_document

    head = {"apiVersion": "fairlead/v1", "kind": "PlanChanges"}
    modes = rules.rules_document(settings)
    shards = [each.document(_document) for each in answers]
    print_document({**head, "policy": modes["policy"], "rules": modes, "shards": shards}, output)


def _document(both: BothPlans) -> dict[str, object]:
    return {"decisions": plan_changes_document(*both, plan_changes(*both))}


def decisions_table(changes: list[PlanChange], where: str, *, wide: bool) -> str:
    """Return the jobs that *changes* are about, and how many of them change in which way."""
    if not changes:
        return "no job's decision differs"
    head = ("JOB", "QUEUE", "OLD", "NEW", where, "WHY")
    rows = [row for change in changes for row in _decision_rows(change)]
    counts = Counter(f"{each.before.kinds()} -> {each.after.kinds()}" for each in changes)
    summary = ", ".join(f"{how}: {count}" for how, count in counts.items())
    return f"{table_text([head, *rows], left=len(head), wide=wide)}\n\n{summary}"


def _decision_rows(change: PlanChange) -> list[tuple[str, ...]]:
    """Show each decision of the new side in a row; where it has none, those of the old side."""
    before, after = change.before, change.after
    shown = [(row.where, row.why) for row in after.rows]
    shown = shown or [(row.where, f"old: {row.why}") for row in before.rows]
    return [
        (change.workload, change.queue, before.outcome, after.outcome, where, why)
        for where, why in shown
    ]
