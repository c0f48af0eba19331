"""``--diff``: one change of what is read, or two that are compared with each other."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import click

from fairlead.cli.input.named_input import NamedInput
from fairlead.cli.input.options import Command, shards_or_exit
from fairlead.cli.input.shards import Both, ByShard, in_both

Diff: TypeAlias = tuple[str, str] | None

_OPTION: Final = "--diff"
_UNCHANGED: Final = "\0"  # which no argument of a process can be


class CommandWithDiff(click.Command):
    """Takes one value after ``--diff`` or two: the first of two is what comes before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, a single value after ``--diff`` as the second of two."""
        return super().parse_args(ctx, _with_both_values(args))


class Sides(NamedTuple):
    """Both sides of a comparison: what to call them, and the shards that both have."""

    names: tuple[str, str]
    shards: ByShard[Both]


class _Change(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == _UNCHANGED else super().convert(value, param, ctx)


def diff_option(what: str) -> Callable[[Command], Command]:
    """Add ``--diff``, which shows *what*; the command is to be a `CommandWithDiff`."""
    return click.option(
        _OPTION,
        nargs=2,
        type=_Change(allow_dash=True),
        metavar="[BEFORE] AFTER",
        help=f"Show {what} with only one of two sets of objects, each applied to what else is "
        "read; with AFTER alone, with it and without it.",
    )


def both_sides(asked: NamedInput, diff: tuple[str, str], shard: str | None) -> Sides:
    """Read what is asked for with each of the two values of ``--diff`` applied to it."""
    before, after = diff
    sides = [() if each == _UNCHANGED else (each,) for each in (before, after)]
    if before == _UNCHANGED and not asked.names and asked.cluster is None:
        raise click.UsageError(
            "--diff needs something to change: name two sets of objects, BEFORE and AFTER, or what "
            "else to read with -f or --context"
        )
    old, new = (asked.load(*each, shard=shard, every_shard=True) for each in sides)
    names = ("the input without it" if before == _UNCHANGED else before, after)
    return Sides(names, in_both(names, *shards_or_exit(old, new)))


def _with_both_values(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* with a value before that of each ``--diff`` that has one only."""
    found: list[str] = []
    rest = list(arguments)
    while rest:
        each = rest.pop(0)
        if each == "--":
            return [*found, each, *rest]
        found.append(each)
        if each == _OPTION:
            has_one = bool(rest) and _is_value(rest[0])
            if has_one and not (len(rest) > 1 and _is_value(rest[1])):
                found.append(_UNCHANGED)
    return found


def _is_value(argument: str) -> bool:
    return argument == "-" or not argument.startswith("-")
