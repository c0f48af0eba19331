"""``fairlead usage``: the record of past use, and what an administrator may do about it."""

import click

from fairlead.cli.usage_change import forgive, grant
from fairlead.cli.usage_export import export
from fairlead.cli.usage_import import import_
from fairlead.cli.usage_log import log
from fairlead.cli.usage_show import show

EPILOG = """\b
Examples:
  fairlead usage show --store usage.db --half-life 2d
  fairlead usage grant --queue research gpu=100h --reason "node failure on Monday"
  fairlead usage forgive --all --reason "new year"
  fairlead usage export -o csv usage.csv
  fairlead usage import sacct.txt --time-zone Europe/Berlin
  fairlead usage log
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Show, change, export or import the record of who used what.

    The record is the file that --store names, else the variable FAIRLEAD_USAGE_STORE, else the
    settings among the objects of -f.
    """


for each in (show, grant, forgive, export, import_, log):
    command.add_command(each)
