"""What ``simulate`` and ``sweep`` share: scenario, rules, settings, output folder."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click
import msgspec

from fairlead.cli.input.findings import show_findings
from fairlead.cli.input.options import NamedPath, read_moment
from fairlead.cli.sim.kai_file import FORMAT, is_readable
from fairlead.explain.text.names import printable
from fairlead.policy.contract import POLICY_NAMES
from fairlead.sim.results.result_folder import RESULTS, free_folder
from fairlead.sim.scenario.read.read_scenario import SimulationFile, read_simulation
from fairlead.sim.scenario.scenario import Scenario, Variant, rule_sets
from fairlead.sim.scenario.settings import SETTABLE, WithoutEffect, settings_without_effect
from fairlead.sim.scenario.variant.prepare import prepare
from fairlead.usage.entries import Entry

TWO_POLICIES: Final = ",".join(POLICY_NAMES[:2])
"""Names for examples in help texts."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for; None or empty: not given."""

    scenario: str
    policies: tuple[str, ...] = ()  # of variants or rule sets, by name
    settings: Mapping[str, str] = {}
    seed: int | None = None
    seeds: int | None = None
    usage_from: str | None = None
    usage_at: int | None = None
    to: str | None = None

    def is_plain(self) -> bool:
        """Return whether nothing but the scenario is named."""
        return self == Asked(scenario=self.scenario)

    def folder(self, usual: str) -> Path:
        """Return where results go: the folder that was named, else a new one called *usual*."""
        return free_folder(Path(RESULTS), usual) if self.to is None else Path(self.to)

    def history(self, scenario: Scenario, variants: Sequence[Variant]) -> tuple[Entry, ...]:
        """Return what was used before *scenario* starts; a note says under which rules it counts.

        Raises a `FairleadError` if there is no such record.
        """
        if self.usage_from is None:
            return ()
        from fairlead.cli.usage.history import read_history

        history = read_history(self.usage_from, self.usage_at, scenario.spec.start_ms)
        for variant in variants:
            if prepare(scenario, variant).past_use is None:
                note = (
                    f"note: past usage does not count under {variant.name}, so {self.usage_from} "
                )
                note += "changes nothing there; it counts where the rules use history and the "
                note += "scenario has usage"
                click.echo(printable(note), err=True)
        return history


def note_settings_without_effect(
    scenario: Scenario,
    variants: Sequence[Variant],
    settings: Mapping[str, str],
    beside: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Say which of *settings* change nothing *beside* others, and under which of *variants*."""
    for found in settings_without_effect(scenario, variants, settings, beside):
        tell_without_effect(found, f"{found.setting}={settings[found.setting]}")


def tell_without_effect(found: WithoutEffect, what: str, so_that: str = "") -> None:
    """Say that *what* was set changes nothing, *so_that* something follows, and why if known."""
    note = f"note: {what} changes nothing under {found.variant}{so_that}"
    if found.is_past_use_off:
        note += "; past use does not count, write usage into the scenario or set window as well"
    click.echo(printable(note), err=True)


def takes_scenario(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument and the options, which *command* gets as one `Asked`."""

    @functools.wraps(command)
    def with_asked(**given: Any) -> None:
        asked = Asked(**{field: given.pop(field) for field in Asked.__struct_fields__})
        if asked.usage_at is not None and asked.usage_from is None:
            raise click.UsageError(
                "--usage-at is a moment of the record of --usage-from: name that too"
            )
        check_seeds(asked.settings, asked)
        command(asked, **given)

    for option in reversed(_OPTIONS):
        with_asked = option(with_asked)
    return with_asked


def check_seeds(settings: Mapping[str, object], asked: Asked) -> None:
    """Refuse two ways to set the seed: a run would have the name of another."""
    if "seed" in settings and (asked.seed is not None or asked.seeds is not None):
        raise click.UsageError("found seed as a setting beside --seed or --seeds: leave one out")


def assignments(items: Sequence[str], expected: str) -> Mapping[str, str]:
    """Return the settings of ``NAME=VALUE`` items; anything else is wrong usage."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not (name and equals and text):
            raise click.BadParameter(f"found {item!r}, expected {expected}")
        if name in found:
            raise click.BadParameter(f"found {name} twice: leave one out")
        found[name] = text
    return found


def _settings(
    _context: click.Context, _option: click.Parameter, items: tuple[str, ...]
) -> Mapping[str, str]:
    return assignments(items, "NAME=VALUE such as kValue=2")


def _names(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Return the names in a list with commas."""
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise click.BadParameter(
            f"found no name in {text!r}, expected such as {TWO_POLICIES}; leave it out for "
            "all that the scenario lists"
        )
    return names


_OPTIONS: Final = (
    click.argument("scenario", type=NamedPath(allow_dash=True)),
    click.option(
        "--policy",
        "policies",
        metavar="NAME,...",
        callback=_names,
        help="Which of its variants to run, or which rule sets; by default those that it lists.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_settings,
        help="Change a setting, such as kValue=2; may be repeated.",
    ),
    click.option("--seed", type=click.IntRange(min=0), metavar="N", help="The first random seed."),
    click.option(
        "--seeds",
        type=click.IntRange(min=1, max=10_000),
        metavar="N",
        help="Run each N times, with the seed and those after it.",
    ),
    click.option(
        "--usage-from",
        type=NamedPath(dir_okay=False),
        metavar="FILE",
        help="Begin with this record of use: a store, or what usage export writes.",
    ),
    click.option(
        "--usage-at",
        metavar="TIME",
        callback=read_moment,
        help="The moment of that record at which the simulation starts; by default its start.",
    ),
    click.option(
        "--to",
        type=NamedPath(file_okay=False),
        metavar="FOLDER",
        help="Where to write the results; by default a new folder below results.",
    ),
)


def file_or_exit(asked: Asked) -> SimulationFile:
    """Read the file and show its warnings, and leave if there is an error, with all of them.

    Warnings are shown then as well: an error may count the rows of a log that they tell.
    """
    if asked.scenario == "-":
        raise click.UsageError("name a file: a scenario names others, seen from its folder")
    read = read_simulation(asked.scenario, rule_sets(asked.policies), asked.policies)
    show_findings([finding for finding in read.findings if finding.severity != "advice"])
    if not is_readable(read):
        raise click.exceptions.Exit(1)
    return read


def scenario_or_exit(asked: Asked) -> Scenario:
    """Read a scenario; a file of another format is refused."""
    scenario = file_or_exit(asked).scenario
    if scenario is None:
        raise click.UsageError(
            f"{asked.scenario} is a {FORMAT}, which fairlead simulate runs as it is; write a "
            "scenario to vary it"
        )
    return scenario


class SettingsCommand(click.Command):
    """A command with a list of all settings below its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and then the settings."""
        super().format_options(ctx, formatter)
        with formatter.section("Settings"):
            formatter.write_dl([(name, setting.meaning) for name, setting in SETTABLE.items()])
