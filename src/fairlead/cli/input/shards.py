"""Inputs of several shards: each has a scheduler of its own, and is answered in turn."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import click

from fairlead.cli.input.options import Command
from fairlead.errors import FairleadError
from fairlead.explain.named import Named, NamedJobs, find_named_in, suggestion
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled

S = TypeVar("S")
T = TypeVar("T")
ByShard: TypeAlias = Sequence[tuple[str | None, T]]
"""Something of each shard, after its name; None: the input has no shards."""


def shard_option(command: Command) -> Command:
    """Add ``--shard``."""
    return click.option(
        "--shard",
        metavar="NAME",
        help="Only this SchedulingShard; by default each of the input, one after the other.",
    )(command)


def by_shard(shards: Iterable[Assembled]) -> ByShard[Assembled]:
    """Return the shards of one input with their names."""
    return [(each.shard, each) for each in shards]


class Both(NamedTuple):
    """One shard in two inputs."""

    old: Assembled
    new: Assembled


def in_both(
    names: tuple[str, str], old: Sequence[Assembled], new: Sequence[Assembled]
) -> ByShard[Both]:
    """Return the shards that two inputs have, each input called as the user *names* it.

    Where each has a single one, these are compared, whatever their names. A shard that only one
    has is reported and not compared.
    """
    if old[0].policy != new[0].policy:
        raise click.UsageError(
            f"{names[0]} is for {old[0].policy} and {names[1]} for {new[0].policy}: "
            "choose with --policy"
        )
    if len(old) == len(new) == 1:
        return [(new[0].shard, Both(old[0], new[0]))]
    sides = [{each.shard: each for each in side} for side in (old, new)]
    for name, own, other in ((names[0], *sides), (names[1], *reversed(sides))):
        for shard in own:
            if shard not in other:
                only = f"note: the shard {shard} is only in {name}, and is not compared"
                click.echo(printable(only), err=True)
    old_sides, new_sides = sides
    both = [name for name in new_sides if name in old_sides]
    if not both:
        raise FairleadError("no shard is in both inputs, so there is nothing to compare")
    return [(name, Both(old_sides[name], new_sides[name])) for name in both]


class Answered(NamedTuple, Generic[T]):
    """What was asked about a shard; or the problem for which there is no answer."""

    shard: str | None
    answer: T | None
    problem: str | None = None

    def document(self, fields: Callable[[T], dict[str, object]]) -> dict[str, object]:
        """Return the entry of ``shards[]``: its name, and *fields* or the problem."""
        rest = {"problem": self.problem} if self.answer is None else fields(self.answer)
        return {"name": self.shard, **rest}


def ask_each(subjects: ByShard[S], ask: Callable[[S], T]) -> list[Answered[T]]:
    """Ask about each shard. One without an answer does not stand in the way of the others.

    Raises what is wrong with the first one if there is no answer at all.
    """
    found: list[Answered[T]] = []
    refusals: list[FairleadError] = []
    for shard, subject in subjects:
        try:
            found.append(Answered(shard, ask(subject)))
        except FairleadError as refusal:
            refusals.append(refusal)
            found.append(Answered(shard, None, str(refusal)))
    if len(refusals) == len(subjects):
        raise refusals[0]
    return found


def print_each(answers: Sequence[Answered[T]], show: Callable[[T], None]) -> None:
    """Print the answers one after the other, with the names of the shards if there are several."""
    for number, each in enumerate(answers):
        if len(answers) > 1:
            click.echo(("\n" if number else "") + printable(f"shard {each.shard}") + "\n")
        if each.answer is None:
            click.echo(printable(f"no answer: {each.problem}"))
        else:
            show(each.answer)


def shard_with(shards: Sequence[Assembled], name: str, namespace: str | None = None) -> Assembled:
    """Return the one shard that has what *name* names, or knows a name like it.

    *namespace* is that of names without one, as for `find_named_in`.
    """
    if len(shards) == 1:
        return shards[0]
    known = [each for each in shards if _knows(each, name, namespace)]
    own = [each for each in known if not _is_idle(find_named_in(each, name, namespace))]
    if len(own) > 1:
        which = f"several shards have {name!r}: choose with --shard: {_listed(own)}"
        raise FairleadError(printable(which))
    near = [each for each in shards if suggestion(each.state, name)]
    return (own or known or near or shards)[0]


def _knows(shard: Assembled, name: str, namespace: str | None) -> bool:
    try:
        find_named_in(shard, name, namespace)
    except FairleadError:
        return False
    return True


def _is_idle(named: Named) -> bool:
    """Return whether an object is named of which the shard has no job."""
    return isinstance(named, NamedJobs) and not named.jobs


def check_is_in(shard: str | None, named: Named, name: str) -> None:
    """Refuse an object that has no job in the shard that was chosen, but may have one elsewhere."""
    if shard is None or not _is_idle(named):
        return
    if isinstance(named, NamedJobs) and named.via is not None and named.via.finished:
        return
    text = f"{name!r} has no job in the shard {shard}; leave --shard out to look in all shards"
    raise FairleadError(printable(text))


def only_shard(shards: Sequence[Assembled], why: str) -> Assembled:
    """Return the only shard; several are wrong usage, and *why* says so."""
    if len(shards) > 1:
        raise click.UsageError(printable(f"{why}: choose with --shard: {_listed(shards)}"))
    return shards[0]


def _listed(shards: Iterable[Assembled]) -> str:
    return ", ".join(str(each.shard) for each in shards)
