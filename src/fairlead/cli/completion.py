"""``fairlead completion``: the script that lets a shell complete fairlead's words."""

import click
from click.shell_completion import get_completion_class

EPILOG = """\b
Examples:
  source <(fairlead completion bash)
  fairlead completion zsh > ~/.zfunc/_fairlead
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for your shell."""
    from fairlead.cli.group import COMPLETION_VARIABLE, fairlead

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(fairlead, {}, "fairlead", COMPLETION_VARIABLE).source())
