"""Ctrl-C as a wish to stop soon, so that what was done until then can be kept."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click


class Interruption:
    """Whether somebody wants to stop."""

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
