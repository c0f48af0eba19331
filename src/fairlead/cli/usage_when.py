"""``--now`` of the verbs that write: what time it is for them, which is no plan's."""

from collections.abc import Callable

import click

from fairlead.cli.input.options import now_option


def dated(meaning: str) -> Callable[[click.Command], click.Command]:
    """Add ``--now`` as the last option; *meaning* is what it says in the help."""

    def add(command: click.Command) -> click.Command:
        now_option(command)
        option = command.params[-1]
        assert isinstance(option, click.Option)
        option.help = meaning
        return command

    return add
