"""``fairlead queues --watch``: the share tree anew, whenever the cluster changes."""

import io
import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Final

import click

from fairlead.cli.input.live_objects import LiveCluster
from fairlead.cli.input.named_input import NamedInput
from fairlead.cli.input.options import shards_or_exit
from fairlead.cli.output.progress import SayNews
from fairlead.cluster.kubernetes.reading.follow_cluster import follow_cluster
from fairlead.cluster.kubernetes.reading.followed_state import FollowedState
from fairlead.errors import FairleadError
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.model.duration import moment_text

_CLEARED: Final = "\x1b[H\x1b[2J"  # the cursor to the top, and nothing on the screen

Print = Callable[[Sequence[Assembled], int], None]


def watch_queues(asked: NamedInput, shard: str | None, print_queues: Print) -> None:
    """Print the queues when they change, at most once a second, until Ctrl-C.

    *print_queues* gets the shards and the time. On a terminal the new answer takes the place of the
    old one; else it is printed below it. Each has a line with the time and the cluster.
    """
    with suppress(KeyboardInterrupt):
        while True:
            (shards,) = shards_or_exit(asked.load(shard=shard, every_shard=True))
            live, read = asked.live(), asked.objects()
            state = FollowedState(
                shards[0].policy,
                read.rules,
                [each.shard for each in shards],
                objects=read.objects,
                added=asked.documents(),
            )
            screen = _Screen(live, state, print_queues)
            live.runner.run(follow_cluster(live.access, read.objects, state, screen.show))
            asked.forget()  # the cluster has other shards by now


class _Screen:
    """What was printed last, so that nothing is printed twice."""

    def __init__(self, live: LiveCluster, state: FollowedState, print_queues: Print) -> None:
        self._live = live
        self._state = state
        self._print_queues = print_queues
        self._is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._say = SayNews()
        self._printed = ""
        self._problem = _LastWarning()
        logging.getLogger("fairlead").addHandler(self._problem)

    def show(self, stale: Sequence[str]) -> None:
        """Print the queues as of now, unless that is what is printed already.

        *stale* are the kinds whose changes are not seen at present.
        """
        now_ms = time.time_ns() // 10**6
        answer = self._answer(self._state.settle(), now_ms)
        if stale:
            why = f": {self._problem.text}" if self._problem.text else ""
            answer = printable(f"not current: {', '.join(stale)}{why}") + f"\n{answer}"
        if answer == self._printed:
            return
        begin = ""  # the first answer goes below the warnings
        if self._printed:
            begin = _CLEARED if self._is_terminal else "\n"
        self._printed = answer
        click.echo(f"{begin}{moment_text(now_ms)}  {self._live.title()}\n{answer}", nl=False)

    def _answer(self, shards: Sequence[Assembled], now_ms: int) -> str:
        printed = _Captured(is_terminal=self._is_terminal)
        with redirect_stdout(printed), redirect_stderr(io.StringIO()) as notes:
            try:
                self._print_queues(shards, now_ms)
            except FairleadError as refusal:
                click.echo(printable(f"no answer: {refusal}"))
        self._say({line: line for line in notes.getvalue().splitlines()})
        return printed.getvalue()


class _Captured(io.StringIO):
    """What is printed, as wide as if it went to where it will."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class _LastWarning(logging.Handler):
    """Keeps what the watches complained about last: on the screen it would be in the way."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()
