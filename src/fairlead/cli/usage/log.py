"""``fairlead usage log``: what administrators changed, who, when and why."""

from operator import itemgetter

import click
import msgspec

from fairlead.cli.input.options import output_option
from fairlead.cli.output.table import csv_line, table_text
from fairlead.cli.usage.record import find_record, names_record, opened
from fairlead.explain.text.measures import hours_text, hours_unit
from fairlead.model.duration import moment_text
from fairlead.store.file.file_notes import ImportNote
from fairlead.usage.entries import Forgiven, Granted

EPILOG = """\b
Examples:
  fairlead usage log --store usage.db
  fairlead usage log --store usage.db -o json
"""
HEAD = ("TIME", "WHO", "CHANGE", "QUEUE", "USER", "AMOUNTS", "REASON")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change by an administrator, as text."""

    time: str
    who: str
    change: str
    queue: str | None  # None: all
    user: str | None
    amounts: dict[str, str]  # by resource; a charge has a minus
    imported: str | None = None  # which file, how much of it, from when to when
    reason: str


@click.command(epilog=EPILOG)
@output_option("table", "json", "yaml", "csv")
@names_record
def log(output: str, store: str | None, files: tuple[str, ...]) -> None:
    """Show grants, resets and imports: by whom, when and why.

    Grants, charges, what was forgiven and what was imported, the newest last.
    """
    with opened(find_record(store, files), writes=False) as record:
        dated = [(note.at_ms, _imported(note)) for note in record.imports()]
        dated += [(act.at_ms, _change(act, record.resources)) for act in record.audit()]
    changes = [change for _, change in sorted(dated, key=itemgetter(0))]
    if output in ("json", "yaml"):
        from fairlead.cli.output.document import print_document

        print_document(
            {"apiVersion": "fairlead/v1", "kind": "UsageLog", "changes": changes}, output
        )
        return
    rows = [_row(change) for change in changes]
    if output == "table":
        click.echo(table_text([HEAD, *rows], left=len(HEAD)) if rows else "nothing was changed")
        return
    for row in ([each.lower() for each in HEAD], *rows):
        click.echo(csv_line(row), nl=False)


def _change(entry: Granted | Forgiven, resources: tuple[str, ...]) -> Change:
    if isinstance(entry, Forgiven):
        word, user = "forgiven", ""
        times: list[tuple[str, int]] = []
    else:
        word, user = _word(entry), entry.user
        # What is granted is taken off, so it is kept with a minus; people say it the other way.
        times = [(name, -each) for name, each in zip(resources, entry.resource_time, strict=True)]
    return Change(
        time=moment_text(entry.at_ms),
        who=entry.who,
        change=word,
        queue=entry.queue,
        user=user or None,
        amounts={
            name: f"{hours_text(name, each)} {hours_unit(name)}" for name, each in times if each
        },
        reason=entry.reason,
    )


def _imported(note: ImportNote) -> Change:
    count = "1 entry" if note.entries == 1 else f"{note.entries} entries"
    return Change(
        time=moment_text(note.at_ms),
        who=note.who,
        change="imported",
        queue=None,
        user=None,
        amounts={},
        imported=f"{note.file}, {count} from {moment_text(note.begin_ms)} to "
        f"{moment_text(note.end_ms)}",
        reason=note.reason,
    )


def _word(entry: Granted) -> str:
    if all(each <= 0 for each in entry.resource_time):
        return "granted"
    return "charged" if all(each >= 0 for each in entry.resource_time) else "changed"


def _row(change: Change) -> tuple[str, ...]:
    amounts = ", ".join(f"{text} {name}" for name, text in change.amounts.items())
    amounts = change.imported or amounts
    queue = "*" if change.queue is None else change.queue
    user = change.user or ""
    return (change.time, change.who, change.change, queue, user, amounts, change.reason)
