"""The help of commands that change settings by name: it lists them with what they mean."""

import click

from fairlead.sim.scenario.settings import SETTABLE


class SettingsCommand(click.Command):
    """A command with a list of all settings below its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and then the settings."""
        super().format_options(ctx, formatter)
        with formatter.section("Settings"):
            formatter.write_dl([(name, setting.meaning) for name, setting in SETTABLE.items()])
