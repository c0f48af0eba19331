"""``fairlead usage export``: the whole record as text."""

from pathlib import Path

import click

from fairlead.cli.output.progress import counted
from fairlead.cli.usage.record import find_record, names_record, opened
from fairlead.errors import FairleadError
from fairlead.explain.text.whole_file import write_whole
from fairlead.store.text.usage_text import TextHead, usage_lines

_SQLITE = b"SQLite format 3\0"

EPILOG = """\b
Examples:
  fairlead usage export --store usage.db usage.jsonl
  fairlead usage export --store usage.db | jq -c 'select(.type == "granted")'
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(dir_okay=False), required=False, metavar="[FILE]")
@names_record
def export(file: str | None, store: str | None, files: tuple[str, ...]) -> None:
    """Write all entries of the usage store as JSON lines.

    To a file, or to standard output. An import gives the same answers again. Times are milliseconds
    since 1970, amounts are whole base units: millicores, bytes, thousandths of a GPU.
    """
    found = find_record(store, files)
    with opened(found, writes=False) as record:
        # Asked before the entries: of a later look, what it found might be missing among them.
        head = TextHead(resources=record.resources, observed_ms=record.observed_ms)
        lines = usage_lines(head, counted(record.entries(), "entries exported"))
        if file is None:
            for line in lines:
                click.echo(line, nl=False)
        else:
            _refuse_a_database(Path(file))
            write_whole(Path(file), (line.encode() for line in lines))


def _refuse_a_database(file: Path) -> None:
    """Let no slip in a name put a text in the place of a record, this one or another."""
    if not file.is_file():
        return
    try:
        with file.open("rb") as there:
            begin = there.read(len(_SQLITE))
    except OSError:
        return  # whether it can be written is seen when it is
    if begin == _SQLITE:
        raise FairleadError(
            f"{file} is a database, maybe a usage store; nothing was written: name another file"
        )
