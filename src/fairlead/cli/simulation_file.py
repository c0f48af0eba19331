"""What a user names to be simulated, with its findings shown as ``validate`` shows them."""

import click

from fairlead.cli.findings import show_findings
from fairlead.cli.simulation_options import Asked
from fairlead.sim.scenario.read.read_file import SimulationFile, read_simulation
from fairlead.sim.scenario.scenario import Scenario, rule_sets


def file_or_exit(asked: Asked) -> SimulationFile:
    """Read the file and show its warnings, and leave if there is an error, with all of them.

    Warnings are shown then as well: an error may count the rows of a log that they tell.
    """
    if asked.scenario == "-":
        raise click.UsageError("name a file: a scenario names others, seen from its folder")
    read = read_simulation(asked.scenario, rule_sets(asked.policies), asked.policies)
    show_findings([finding for finding in read.findings if finding.severity != "advice"])
    if read.scenario is None and read.peer is None:
        raise click.exceptions.Exit(1)
    return read


def scenario_or_exit(asked: Asked) -> Scenario:
    """Read a scenario; a file of KAI's simulator is refused."""
    scenario = file_or_exit(asked).scenario
    if scenario is None:
        raise click.UsageError(
            f"{asked.scenario} is a file of KAI's simulator, which fairlead simulate runs as it "
            "is; write a scenario to vary it"
        )
    return scenario
