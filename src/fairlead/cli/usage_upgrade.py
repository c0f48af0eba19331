"""``fairlead usage upgrade``: a record that an older program wrote, for this one."""

import click

from fairlead.cli.output.progress import counted
from fairlead.cli.usage_record import find_record, names_record
from fairlead.store.file.upgrade import upgrade as upgrade_store

EPILOG = """\b
Examples:
  fairlead usage upgrade --store usage.db
  fairlead usage upgrade -f cluster/
"""


@click.command(epilog=EPILOG)
@names_record
def upgrade(store: str | None, files: tuple[str, ...]) -> None:
    """Bring a record of an older version up to date.

    All of it or nothing: stopped at any moment, the record is as it was. Meanwhile nobody else
    can write it, so stop schedulers that do; an older one cannot use it any more afterwards. It
    takes as much room on the disk again as the record has.
    """
    path = find_record(store, files).path
    done = upgrade_store(path, shown=counted)
    if done is None:
        click.echo(f"{path} is up to date")
        return
    click.echo(f"upgraded {path} from version {done.old_version} to version {done.version}")
    if done.has_snapshot:
        click.echo("saved its sums anew, so that the next start is quick")
