"""``fairlead plan``: which jobs start now and where, which wait, and exactly why."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import click

from fairlead.cli.cluster.plan_changes import BothPlans, print_plan_changes
from fairlead.cli.input.diff_option import CommandWithDiff, Diff, both_sides, diff_option
from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import (
    check_plannable,
    faithful_option,
    now_option,
    output_option,
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
from fairlead.cli.past_use import UsageWish, let_past_count, usage_options, usage_wish
from fairlead.explain.of_namespace import plan_of
from fairlead.explain.plan.cycles import plan_cycles
from fairlead.explain.plan.diff import Planned
from fairlead.explain.plan.incomplete import incomplete_text, unjudged_in
from fairlead.explain.plan.report import (
    PlanRow,
    cycles_document,
    decision_documents,
    plan_document,
    plan_rows,
)
from fairlead.explain.rule_set import rule_set_of
from fairlead.manifest.assembled import Assembled
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy, Settings, make_policy

EPILOG = """\b
Examples:
  fairlead plan -f cluster/
  fairlead plan -f cluster/ --cycles 10
  fairlead plan -f cluster/ --usage
  fairlead plan -f cluster/ --now 2026-11-16T09:00:00Z
  fairlead plan -f cluster/ --shard gpu-pool
  fairlead plan -f cluster/ --diff old-queues.yaml new-queues.yaml
  fairlead plan --context prod
  fairlead plan --context prod --diff change.yaml
  kubectl get queues,nodes,podgroups,pods -A -o yaml | fairlead plan -f - -o json
"""


@click.command(cls=CommandWithDiff, epilog=EPILOG)
@reads_input
@shard_option
@diff_option("which jobs start, wait or are evicted")
@click.option(
    "--cycles",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Carry out up to N plans, one after the other, until nothing changes.",
)
@now_option
@usage_options
@faithful_option
@output_option("table", "wide", "json", "yaml")
def command(
    asked: NamedInput,
    shard: str | None,
    diff: Diff,
    cycles: int,
    now: int,
    usage: bool,
    usage_source: str | None,
    faithful: bool,
    output: str,
) -> None:
    """Show which jobs start, wait, move or are evicted now, and why.

    Reads the jobs, their queues, and the nodes or the quota that they share, and decides under the
    rules of the scheduler, without its known mistakes; with --faithful, exactly as it does. The
    first line says which. Nothing is changed anywhere.
    """

    def shown(plan: Plan) -> Plan:
        return plan if asked.namespace is None else plan_of(plan, asked.namespace)

    wish = usage_wish(usage, usage_source, now)
    if diff is not None:
        if cycles > 1:
            raise click.UsageError("--diff compares one cycle of each side: leave out --cycles")
        both = both_sides(asked, diff, shard).shards

        def plans_of(each: Both) -> BothPlans:
            planners = [_planner(side, wish, faithful=faithful) for side in each]
            plans = [one.plan(side.state, now) for one, side in zip(planners, each, strict=True)]
            old, new = map(shown, plans)
            return BothPlans(Planned(each.old.state, old), Planned(each.new.state, new))

        settings = with_faithfulness(both[0][1].new.settings, faithful=faithful)
        print_plan_changes(settings, ask_each(both, plans_of), output)
        return
    (shards,) = shards_or_exit(asked.load(shard=shard, every_shard=True))

    def cycles_of(one: Assembled) -> Iterator[Cycle]:
        planner = _planner(one, wish, faithful=faithful)
        return (Cycle(one, shown(plan)) for plan in plan_cycles(planner, one.state, now, cycles))

    settings = with_faithfulness(shards[0].settings, faithful=faithful)
    _print_plans(settings, ask_each(by_shard(shards), cycles_of), cycles, output)


class Cycle(NamedTuple):
    """A shard, whose state is as before the plan for as long as the next one is not asked for."""

    shard: Assembled
    plan: Plan


def _print_plans(
    settings: Settings, answers: Sequence[Answered[Iterator[Cycle]]], cycles: int, output: str
) -> None:
    rules = rule_set_of(settings)
    if output in ("table", "wide"):
        wide = output == "wide"
        click.echo(f"{rules.rules_text(settings)}\n")
        print_each(answers, lambda found: _print_tables(found, cycles, wide=wide))
        return
    from fairlead.cli.output.document import print_document

    documents = [each.document(_cycles_document) for each in answers]
    print_document(plan_document(rules.rules_document(settings), documents), output)


def _planner(shard: Assembled, wish: UsageWish, *, faithful: bool) -> Policy:
    """Return what plans a shard, after its past use is read."""
    check_plannable(shard)
    let_past_count(shard, wish)
    return make_policy(with_faithfulness(shard.settings, faithful=faithful))


def _cycles_document(cycles: Iterable[Cycle]) -> dict[str, object]:
    """Return the entries of the cycles; names are those of the time of each plan."""
    return cycles_document(
        (plan, decision_documents(shard.state, plan.decisions)) for shard, plan in cycles
    )


def _print_tables(cycles: Iterable[Cycle], most: int, *, wide: bool) -> None:
    for number, (shard, plan) in enumerate(cycles, start=1):
        if most > 1:
            click.echo(f"{'' if number == 1 else chr(10)}cycle {number}\n")
        where = rule_set_of(shard.settings).places_title
        click.echo(_table(shard.state, plan, where, wide=wide))


def _table(state: ClusterState, plan: Plan, where: str, *, wide: bool) -> str:
    rows = plan_rows(state, plan.decisions)
    if not rows:
        return "nothing waits"
    head = ("DECISION", "JOB", "QUEUE", "PODS", where, "WHY")
    table = table_text([head, *map(_cells, rows)], left=len(head), wide=wide)
    return f"{table}\n\n{_summary(plan, rows)}"


def _cells(row: PlanRow) -> tuple[str, ...]:
    return (row.decision, row.workload, row.queue, row.pods, row.where, row.why)


def _summary(plan: Plan, rows: list[PlanRow]) -> str:
    jobs: dict[str, set[str]] = {}
    for row in rows:
        jobs.setdefault(row.decision, set()).add(row.workload)
    counts = ", ".join(f"{word}: {len(names)}" for word, names in jobs.items())
    incomplete = incomplete_text(unjudged_in(plan))
    return f"{counts}; the plan is incomplete: {incomplete}" if incomplete else counts
