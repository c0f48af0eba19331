"""How far a simulation is, in one line on a terminal that is written anew."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Final

import click

from fairlead.cli.output.progress import Interruption
from fairlead.explain.text.measures import length_text
from fairlead.explain.text.names import printable
from fairlead.sim.run.run_variant import RunObserver

_EVERY_S: Final = 0.2
_WIDTH: Final = 24


class RunProgress(RunObserver):
    """Shows runs one after the other, and stops the current one on Ctrl-C."""

    def __init__(self, interruption: Interruption, clock: Callable[[], float] = time.monotonic):
        """Look at *clock* for when to write anew, and for how long it may still take."""
        self._interruption = interruption
        self._clock = clock
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._run = ""
        self._start_ms = 0
        self._until_ms: int | None = None
        self._jobs: int | None = None
        self._begun_s = self._shown_s = 0.0

    def begin(self, run: str, start_ms: int, until_ms: int | None, jobs: int | None) -> None:
        """Take notice that a run begins."""
        self._run, self._start_ms = printable(run), start_ms
        self._until_ms, self._jobs = until_ms, jobs
        self._begun_s = self._shown_s = self._clock()

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        """Write the line anew if it is time to; return whether the run goes on."""
        if self._is_shown:
            now_s = self._clock()
            if now_s - self._shown_s >= _EVERY_S:
                self._shown_s = now_s
                text = self._line(now_ms, finished, now_s - self._begun_s)
                _write_anew(text)
        return not self._interruption.is_wanted

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            _write_anew("")

    def _line(self, now_ms: int, finished: int, took_s: float) -> str:
        """Return how far it is: by time, else by jobs, else without saying of what."""
        passed_ms = now_ms - self._start_ms
        passed = length_text(passed_ms)
        done = "1 job done" if finished == 1 else f"{finished:,} jobs done"
        if self._until_ms is not None:
            whole_ms = self._until_ms - self._start_ms
            part, far = passed_ms / whole_ms, f"{passed} of {length_text(whole_ms)}, {done}"
        elif self._jobs is not None:
            jobs = max(self._jobs, finished, 1)  # by chance more may come than are expected
            part, far = finished / jobs, f"{passed}, {finished:,} of {jobs:,} jobs done"
        else:
            return f"{self._run}: {passed}, {done}"
        left = _left(took_s, part) if part > 0 else ""
        return f"{self._run} [{'#' * round(part * _WIDTH):<{_WIDTH}}] {part:4.0%} {far}{left}"


class RunCount:
    """Shows how many of several runs have ended, and how long the others may take."""

    def __init__(self, runs: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none of *runs*."""
        self._runs = runs
        self.ended = 0
        self._clock = clock
        self._begun_s = clock()
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._show()

    def one_more(self) -> None:
        """Take notice that a run has ended."""
        self.ended += 1
        self._show()

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            _write_anew("")

    def _show(self) -> None:
        if not self._is_shown:
            return
        part = self.ended / self._runs
        took_s = self._clock() - self._begun_s
        left = _left(took_s, part) if part else ""
        bar = "#" * round(part * _WIDTH)
        text = f"[{bar:<{_WIDTH}}] {part:4.0%} {self.ended:,} of {self._runs:,} runs{left}"
        _write_anew(text)


def _left(took_s: float, part: float) -> str:
    """Say how long the rest takes, in whole seconds: it is a guess."""
    return f", {length_text(round(took_s / part * (1 - part)) * 1000)} left"


def _write_anew(text: str) -> None:
    """Put *text* in the place of the last line, cut so that it stays one line."""
    width = _columns() - 1  # the last column would wrap on some terminals
    click.echo(f"\r\x1b[K{text[:width]}", err=True, nl=False)


def _columns() -> int:
    """Return how wide the terminal is, which need not be where results go."""
    try:
        own = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # it is none, or says nothing
        own = 0
    return own or shutil.get_terminal_size().columns
