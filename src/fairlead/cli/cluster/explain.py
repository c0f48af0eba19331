"""``fairlead explain``: the arithmetic behind a queue's numbers, or what becomes of a job."""

import click
from msgspec.structs import replace

from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import (
    capacity_option,
    check_plannable,
    faithful_option,
    now_option,
    output_option,
    read_capacity,
    shards_or_exit,
    with_faithfulness,
)
from fairlead.cli.input.shards import check_is_in, shard_option, shard_with
from fairlead.cli.output.table import table_text, wrapped
from fairlead.cli.past_use import let_past_count, usage_options, usage_wish
from fairlead.explain.jobs.object import explain_object, object_title
from fairlead.explain.jobs.other_mode import other_outcome, outcome_document, outcome_text
from fairlead.explain.named import Named, NamedJobs, NamedNode, NamedQueue, find_named_in
from fairlead.explain.node import explain_node
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import Amounts, WorkloadName
from fairlead.policy.contract import Settings, make_policy

EPILOG = """\b
Examples:
  fairlead explain research -f cluster/
  fairlead explain team-vision/detector -f cluster/
  fairlead explain vision -f queues.yaml --capacity gpu=100
  fairlead explain research -f cluster/ --usage-source usage.db
  fairlead explain cohort/all -f cluster/ -o json
  fairlead explain pod/team-vision/detector-0 -f cluster/
  fairlead explain node/gpu-1 -f cluster/
  fairlead explain detector --context prod -n team-vision
"""


@click.command(epilog=EPILOG)
@click.argument("name", metavar="QUEUE|JOB|OBJECT")
@reads_input
@shard_option
@capacity_option
@now_option
@usage_options
@faithful_option
@output_option("text", "wide", "json", "yaml")
def command(
    name: str,
    asked: NamedInput,
    shard: str | None,
    capacity: str | None,
    now: int,
    usage: bool,
    usage_source: str | None,
    faithful: bool,
    output: str,
) -> None:
    """Explain the numbers of a queue, why a job starts, waits or is evicted, or a node.

    Of a queue: the arithmetic, step by step, with * at the queue among its siblings. A Cohort is
    named cohort/NAME. Of a job, named NAMESPACE/NAME: the jobs before it, what its queue and the
    queues above allow, the nodes or flavors, its victims or its preemptors, and which claims
    failed. Of a node: the pods on it, what is free, and which waiting jobs find room there.

    A LocalQueue stands for its ClusterQueue. A pod, or a Job or any other owner of pods, stands
    for the jobs that it is a part of. KIND/NAME, such as pod/lab/train-0, chooses among several
    of one name.
    """
    (shards,) = shards_or_exit(asked.load(shard=shard, every_shard=True))
    assembled = shard_with(shards, name, asked.namespace)
    settings = with_faithfulness(assembled.settings, faithful=faithful)
    given = read_capacity(capacity, assembled)
    named = find_named_in(assembled, name, asked.namespace)
    check_is_in(shard, named, name)
    if given is not None and not isinstance(named, NamedQueue):
        raise click.BadParameter(
            "a job is placed on nodes, so it needs them; leave it out", param_hint="--capacity"
        )
    if isinstance(named, NamedNode) or (isinstance(named, NamedJobs) and named.jobs):
        check_plannable(assembled)
    let_past_count(assembled, usage_wish(usage, usage_source, now))
    other = with_faithfulness(assembled.settings, faithful=not faithful)
    kind, explanation = _explanation(assembled, (settings, other), named, given, now)
    if output in ("text", "wide"):
        _print_text(settings, named, explanation, wide=output == "wide")
        return
    from fairlead.cli.output.document import print_document

    document: dict[str, object] = {
        "apiVersion": "fairlead/v1",
        "kind": kind,
        "shard": assembled.shard,
        "rules": rule_set_of(settings).rules_document(settings),
    }
    if isinstance(named, NamedJobs) and named.via is not None:
        via = named.via
        document["object"] = {"kind": via.kind, "name": via.name, "finished": via.finished}
    print_document({**document, "answer": explanation.answer, **explanation.data}, output)


def _print_text(settings: Settings, named: Named, explanation: Explanation, *, wide: bool) -> None:
    click.echo(f"{rule_set_of(settings).rules_text(settings)}\n")
    if meant := _meaning(named):
        click.echo(f"{printable(meant)}\n")
    click.echo(_text(explanation, wide=wide))


def _meaning(named: Named) -> str:
    """Return what an object stands for that was named in place of a job or queue; "": nothing."""
    match named:
        case NamedQueue(queue, local_queue) if local_queue is not None:
            return f"LocalQueue {local_queue} leads to {queue}."
        case NamedJobs((job,), via) if via is not None:
            return f"{object_title(via)} is part of {job}."
    return ""


def _explanation(
    assembled: Assembled,
    modes: tuple[Settings, Settings],
    named: Named,
    capacity: Amounts | None,
    now_ms: int,
) -> tuple[str, Explanation]:
    """Return the kind of the answer, and the answer, for what was named.

    The first of the *modes* is the one that was chosen.
    """
    state, settings = assembled.state, modes[0]
    rules = rule_set_of(settings)
    match named:
        case NamedQueue(queue):
            return "QueueExplanation", rules.explain_queue(state, settings, capacity, queue)
        case NamedNode(node):
            waiting = rules.waiting_for_node(state, settings, node, now_ms)
            pods = assembled.directory.pods_on(node)
            return "NodeExplanation", explain_node(state, node, pods, waiting)
        case NamedJobs((job,)):
            explanation: Explanation = rules.explain_job(state, settings, job, now_ms)
            return "JobExplanation", _with_other_mode(explanation, assembled, modes, job, now_ms)
        case NamedJobs(jobs, via):
            assert via is not None, "several jobs, or none, are those of an object"
            decisions = make_policy(settings).plan(state, now_ms).decisions if jobs else ()
            return "ObjectExplanation", explain_object(state, via, jobs, decisions)


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
