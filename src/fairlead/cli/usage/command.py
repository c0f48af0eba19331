"""``fairlead usage``: shows, changes, exports and imports the recorded usage."""

import click

from fairlead.cli.usage.change import forgive, grant
from fairlead.cli.usage.export import export
from fairlead.cli.usage.import_ import import_
from fairlead.cli.usage.log import log
from fairlead.cli.usage.show import show

EPILOG = """\b
Examples:
  fairlead usage show --store usage.db --half-life 2d
  fairlead usage grant --queue research gpu=100h --reason "node failure on Monday"
  fairlead usage forgive --all --reason "new year"
  fairlead usage export usage.jsonl
  fairlead usage import sacct.txt --time-zone Europe/Berlin
  fairlead usage log
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Show, change, export or import the recorded usage.

    It is in the usage store: the file named by --store, else by the variable
    FAIRLEAD_USAGE_STORE, else by the settings among the objects of -f.
    """


for each in (show, grant, forgive, export, import_, log):
    command.add_command(each)
