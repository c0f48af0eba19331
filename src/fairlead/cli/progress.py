"""Long work shows how far it is, on a terminal only and apart from the output."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

T = TypeVar("T")

STEP = 20_000
"""After so many things the count is written anew: often enough to be seen moving."""


def announce(count: int, what: str) -> None:
    """Say on a terminal that long work begins, whose steps cannot be counted."""
    if count >= STEP and sys.stderr is not None and sys.stderr.isatty():
        click.echo(f"{count:,} {what} ...", err=True)


def counted(things: Iterable[T], what: str) -> Iterator[T]:
    """Yield *things*, and show on a terminal how many have passed; short work shows nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from things
        return
    is_shown = False
    for count, thing in enumerate(things, start=1):
        if count % STEP == 0:
            is_shown = True
            click.echo(f"\r{count:,} {what}", err=True, nl=False)
        yield thing
    if is_shown:
        click.echo("", err=True)
