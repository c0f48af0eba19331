"""Files of KAI's own simulator, which Fairlead reads and runs as they are.

This is a file format and not a rule set: the only file of the command line that names it.
"""

from collections.abc import Sequence
from typing import Final

import click

from fairlead.manifest.text.documents import Document
from fairlead.sim.scenario.read.read_scenario import SimulationFile

FORMAT: Final = "file of KAI's simulator"
OUTPUTS: Final = frozenset({"table", "csv"})
"""Its table is CSV already, so it has no other forms."""


def is_share_simulation(documents: Sequence[Document]) -> bool:
    """Return whether *documents* are one file of KAI's simulator."""
    from fairlead.sim.scenario.read.read_scenario import simulator_of

    return simulator_of(documents) is not None


def is_readable(read: SimulationFile) -> bool:
    """Return whether the file is a scenario, or one of KAI's simulator, without errors."""
    return read.scenario is not None or read.peer is not None


def print_shares(read: SimulationFile, *, is_plain: bool) -> None:
    """Run a file of KAI's simulator and print its table; it takes no options."""
    assert read.peer is not None
    if not is_plain:
        raise click.UsageError(
            f"a {FORMAT} is run as it is, and prints its table: leave out all options"
        )
    read.peer.run(click.echo)
