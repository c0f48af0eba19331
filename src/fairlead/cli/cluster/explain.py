"""``fairlead explain``: the arithmetic behind a queue's numbers, or what becomes of a job."""

from typing import Any

import click
from msgspec.structs import replace

from fairlead.cli.input.options import (
    capacity_option,
    check_plannable,
    faithful_option,
    load_files,
    now_option,
    output_option,
    read_capacity,
    reads_manifests,
    states_or_exit,
    with_faithfulness,
)
from fairlead.cli.output.table import table_text, wrapped
from fairlead.cli.past_use import let_past_count, usage_options, usage_wish
from fairlead.explain.jobs.other_mode import other_outcome, outcome_document, outcome_text
from fairlead.explain.named import is_queue, job_named, queue_named
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import WorkloadName
from fairlead.policy.contract import Settings

EPILOG = """\b
Examples:
  fairlead explain research -f cluster/
  fairlead explain team-vision/detector -f cluster/
  fairlead explain vision -f queues.yaml --capacity gpu=100
  fairlead explain research -f cluster/ --usage-source usage.db
  fairlead explain cohort/all -f cluster/ -o json
"""


@click.command(epilog=EPILOG)
@click.argument("name", metavar="QUEUE|JOB")
@reads_manifests
@capacity_option
@now_option
@usage_options
@faithful_option
@output_option("text", "wide", "json", "yaml")
def command(
    name: str,
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    policy: Any,
    strict: bool,
    capacity: str | None,
    now: int,
    usage: bool,
    usage_source: str | None,
    faithful: bool,
    output: str,
) -> None:
    """Explain the numbers of a queue, or why a job starts, waits or is evicted.

    Of a queue: the arithmetic, step by step, with * at the queue among its siblings. A Cohort is
    named cohort/NAME. Of a job, named NAMESPACE/NAME: the jobs before it, what its queue and the
    queues above allow, the nodes or flavors, its victims or its preemptors, and which claims
    failed.
    """
    (assembled,) = states_or_exit(load_files(files, more_files, policy, strict=strict))
    state = assembled.state
    settings = with_faithfulness(assembled.settings, faithful=faithful)
    rules = rule_set_of(settings)
    given = read_capacity(capacity, assembled)
    wish = usage_wish(usage, usage_source, now)
    job = None if is_queue(state, name) else job_named(state, name)
    if job is not None:
        if given is not None:
            raise click.BadParameter(
                "a job is placed on nodes, so it needs them; leave it out", param_hint="--capacity"
            )
        check_plannable(assembled)
        let_past_count(assembled, wish)
        explanation, kind = rules.explain_job(state, settings, job, now), "JobExplanation"
        other = with_faithfulness(assembled.settings, faithful=not faithful)
        explanation = _with_other_mode(explanation, assembled, (settings, other), job, now)
    else:
        queue = queue_named(state, name)
        let_past_count(assembled, wish)
        explanation, kind = rules.explain_queue(state, settings, given, queue), "QueueExplanation"
    if output in ("text", "wide"):
        click.echo(f"{rules.rules_text(settings)}\n")
        click.echo(_text(explanation, wide=output == "wide"))
        return
    from fairlead.cli.output.document import print_document

    document = {
        "apiVersion": "fairlead/v1",
        "kind": kind,
        "rules": rules.rules_document(settings),
    }
    print_document({**document, "answer": explanation.answer, **explanation.data}, output)


def _with_other_mode(
    explanation: Explanation,
    assembled: Assembled,
    modes: tuple[Settings, Settings],
    job: WorkloadName,
    now: int,
) -> Explanation:
    """Return *explanation* with what the second mode decides about the job, if it differs.

    There is no second mode where the settings of the input are those of the original.
    """
    settings, other = modes
    state, rules = assembled.state, rule_set_of(settings)
    outcome = None
    if settings != other:
        outcome = other_outcome(state, settings, other, job, now)
    if outcome is None:
        return replace(explanation, data={**explanation.data, "otherMode": None})
    if is_faithful := rules.is_faithful(other):
        who = f"{rules.peer} itself decides otherwise (--faithful)"
    else:
        who = "With Fairlead's fixes it is decided otherwise (without --faithful)"
    told = {"faithful": is_faithful, **outcome_document(state, outcome)}
    return replace(
        explanation,
        sections=(*explanation.sections, Section(title=f"{who}: {outcome_text(outcome)}")),
        data={**explanation.data, "otherMode": told},
    )


def _text(explanation: Explanation, *, wide: bool) -> str:
    parts = [wrapped(printable(explanation.answer), wide=wide)]
    parts += [_section_text(section, wide=wide) for section in explanation.sections]
    return "\n\n".join(parts)


def _section_text(section: Section, *, wide: bool) -> str:
    lines = [wrapped(printable(section.title), wide=wide)]
    if section.table:
        lines.append(table_text(section.table, left=section.words, indent="  ", wide=wide))
    lines.extend(wrapped(printable(remark), "  ", wide=wide) for remark in section.remarks)
    return "\n".join(lines)
