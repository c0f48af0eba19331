"""``fairlead explain``: the arithmetic behind a queue's numbers."""

from typing import Any

import click

from fairlead.cli.options import (
    capacity_option,
    load_files,
    output_option,
    read_capacity,
    reads_manifests,
    states_or_exit,
)
from fairlead.cli.table import table_text
from fairlead.explain.explanation import Explanation, Section
from fairlead.explain.queue_answers import explain_queue, queue_named

EPILOG = """\b
Examples:
  fairlead explain research -f cluster/
  fairlead explain vision -f queues.yaml --capacity gpu=100
  fairlead explain cohort/all -f kueue/ -o json
"""


@click.command(epilog=EPILOG)
@click.argument("queue")
@reads_manifests
@capacity_option
@output_option("text", "json", "yaml")
def command(
    queue: str,
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    policy: Any,
    strict: bool,
    capacity: str | None,
    output: str,
) -> None:
    """Show the arithmetic behind a queue's numbers, step by step.

    The queue is marked with * among its siblings. A Cohort is named cohort/NAME.
    """
    (assembled,) = states_or_exit(load_files(files, more_files, policy, strict=strict))
    state, settings = assembled.state, assembled.settings
    given = read_capacity(capacity, assembled)
    explanation = explain_queue(state, settings, given, queue_named(state, queue))
    if output == "text":
        click.echo(_text(explanation))
        return
    from fairlead.cli.output import print_document

    document = {"apiVersion": "fairlead/v1", "kind": "QueueExplanation"}
    print_document({**document, "answer": explanation.answer, **explanation.data}, output)


def _text(explanation: Explanation) -> str:
    parts = [explanation.answer, *map(_section_text, explanation.sections)]
    return "\n\n".join(parts)


def _section_text(section: Section) -> str:
    lines = [section.title]
    if section.table:
        lines.append(table_text(section.table, left=section.words, indent="  "))
    lines.extend(f"  {remark}" for remark in section.remarks)
    return "\n".join(lines)
