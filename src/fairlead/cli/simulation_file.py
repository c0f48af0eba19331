"""What a user names to be simulated, with its findings shown as ``validate`` shows them."""

from collections.abc import Collection, Mapping, Sequence

import click

from fairlead.cli.findings import show_findings
from fairlead.sim.read_simulation import SimulationFile, read_simulation
from fairlead.sim.scenario.choose_variants import rule_sets
from fairlead.sim.scenario.scenario import Scenario


def file_or_exit(path: str, policies: Sequence[str] = ()) -> SimulationFile:
    """Read the file, show its warnings, and leave with every error if there is one."""
    if path == "-":
        raise click.UsageError("name a file: a scenario names others, seen from its folder")
    read = read_simulation(path, rule_sets(policies))
    is_refused = read.scenario is None and read.kai_simulation is None
    shown = "error" if is_refused else "warning"
    show_findings([finding for finding in read.findings if finding.severity == shown])
    if is_refused:
        raise click.exceptions.Exit(1)
    return read


def scenario_or_exit(path: str, policies: Sequence[str] = ()) -> Scenario:
    """Read a scenario; a file of KAI's simulator is refused."""
    scenario = file_or_exit(path, policies).scenario
    if scenario is None:
        raise click.UsageError(
            f"{path} is a file of KAI's simulator, which fairlead simulate runs as it is; "
            "write a scenario to vary it"
        )
    return scenario


def names_in(text: str | None) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def check_seeds(set_names: Collection[str], seed: int | None, seeds: int | None) -> None:
    """See that seeds are told in one way only: else a run would be called after another's."""
    if "seed" in set_names and (seed is not None or seeds is not None):
        raise click.UsageError("found seed as a setting beside --seed or --seeds: leave one out")


def assignments(items: Sequence[str], option: str) -> Mapping[str, str]:
    """Return the settings of ``NAME=VALUE`` items; anything else is wrong usage."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not (name and equals and text):
            raise click.BadParameter(
                f"found {item!r}, expected NAME=VALUE such as kValue=2", param_hint=option
            )
        if name in found:
            raise click.BadParameter(f"found {name} twice", param_hint=option)
        found[name] = text
    return found
