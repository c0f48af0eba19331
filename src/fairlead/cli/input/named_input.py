"""What a command is to read, as its options and arguments name it, and under which rules."""

import functools
import io
from typing import Any

import click

from fairlead.cli.input.options import Command, read_standard_input
from fairlead.manifest.load import LoadResult, load
from fairlead.policy.contract import POLICY_NAMES, PolicyName


class NamedInput:
    """Files, folders and standard input, to be read as often as needed."""

    def __init__(
        self, names: tuple[str, ...], policy: PolicyName | None, *, strict: bool = False
    ) -> None:
        """Read nothing yet. *policy* None: the rule set is that of the objects."""
        self.names = names
        self.policy = policy
        self.strict = strict
        self._stdin: bytes | None = None

    def load(
        self, *changes: str, shard: str | None = None, every_shard: bool = False
    ) -> LoadResult:
        """Read everything that is named, with *changes* applied; naming nothing is wrong usage.

        *shard* and *every_shard* are as for `load`. Standard input is read once, and kept.
        """
        names = [*self.names, *changes]
        if not names:
            raise click.UsageError(
                "name what to read: -f FILE, -f FOLDER, or -f - for standard input"
            )
        if "" in names:
            raise click.UsageError(
                "found an empty path, perhaps from a variable that is not set: "
                "name a file, a folder, or - for standard input"
            )
        return load(
            self.names,
            policy=self.policy,
            strict=self.strict,
            stdin=io.BytesIO(self._standard_input(names)),
            changes=changes,
            shard=shard,
            every_shard=every_shard,
        )

    def _standard_input(self, names: list[str]) -> bytes:
        if self._stdin is None and "-" in names:
            self._stdin = read_standard_input(names)
        return self._stdin or b""


def reads_input(command: Command) -> Command:
    """Add the options that say what to read and under which rules: *command* gets it as ``asked``.

    To be the last decorator but that of the command and its arguments before the paths.
    """

    @functools.wraps(command)
    def with_input(
        *arguments: Any,
        files: tuple[str, ...],
        more_files: tuple[str, ...],
        policy: Any,
        strict: bool,
        **options: Any,
    ) -> Any:
        asked = NamedInput((*files, *more_files), policy, strict=strict)
        return command(*arguments, asked=asked, **options)

    named: Any = with_input
    for option in reversed(
        (
            click.option(
                "-f",
                "--file",
                "files",
                multiple=True,
                type=click.Path(allow_dash=True),
                metavar="PATH",
                help="File, folder or - for standard input; may be repeated.",
            ),
            click.argument(
                "more_files", nargs=-1, type=click.Path(allow_dash=True), metavar="[PATH]..."
            ),
            click.option(
                "--policy",
                type=click.Choice(POLICY_NAMES),
                help="Rule set; by default the one whose objects are there.",
            ),
            click.option("--strict", is_flag=True, help="Refuse unknown fields."),
        )
    ):
        named = option(named)
    found: Command = named
    return found
