"""What a long command says on standard error while it works."""

import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

import click

from fairlead.explain.text.names import printable

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


class SayNews:
    """Says on standard error what it did not say the time before."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: frozenset[str] = frozenset()

    def __call__(self, texts: Mapping[str, str]) -> None:
        """Say those of *texts* whose keys are new; what is not among them is over.

        A key is what makes a text another one: ages and moments may change without being news.
        """
        for key, text in texts.items():
            if key not in self._said:
                click.echo(printable(text), err=True)
        self._said = frozenset(texts)


class Interruption:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.is_wanted = False


@contextmanager
def heeded(what: str) -> Iterator[Interruption]:
    """Take the first Ctrl-C as a wish to stop, and say *what* becomes of it; a second one ends all.

    The way of old is back at the first wish, and at the end. A process that was told to ignore
    Ctrl-C, as shells tell those they run in the background, goes on ignoring it.
    """
    interruption = Interruption()
    can_listen = threading.current_thread() is threading.main_thread()
    if not can_listen or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield interruption
        return

    def take_notice(_signal: int, _frame: FrameType | None) -> None:
        interruption.is_wanted = True
        signal.signal(signal.SIGINT, before)
        click.echo(f"\nstopping: {what}; press Ctrl-C again to stop at once", err=True)

    before = signal.signal(signal.SIGINT, take_notice)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
