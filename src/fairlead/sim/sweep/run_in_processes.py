"""Runs on this machine, several at a time, each in a process of its own."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

from fairlead.errors import FairleadError, SimulationError
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.eviction_table import Phrase
from fairlead.sim.run.run_variant import RunOrder, Unobserved, run_variant

LOOK_EVERY_S: Final = 0.2
"""How long a request to stop may go unnoticed."""


def run_in_processes(
    orders: Mapping[str, RunOrder],
    folder: Path,
    *,
    workers: int,
    phrase: Phrase,
    is_stopped: Callable[[], bool],
) -> Iterator[RunAbout]:
    """Run *orders* below *folder*, and yield each run as it ends, whichever is first.

    When *is_stopped* says so, runs that have begun are given up and no other begins. Raises a
    `FairleadError` for a run that fails, and for a process that dies.
    """
    # Processes are begun anew and not as copies of this one, whose threads would be lost in them.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(
        max_workers=workers, mp_context=context, initializer=_begin, initargs=(stop,)
    )
    try:
        waiting = {
            pool.submit(_run, order, folder / name, phrase) for name, order in orders.items()
        }
        yield from _ended(waiting, is_stopped)
    except BrokenProcessPool:
        raise SimulationError(
            "a process that simulated has died, perhaps for lack of memory: try with fewer "
            "--workers; the runs that had ended are kept"
        ) from None
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _ended(waiting: set[Future[RunAbout]], is_stopped: Callable[[], bool]) -> Iterator[RunAbout]:
    while waiting and not is_stopped():
        ended, waiting = wait(waiting, timeout=LOOK_EVERY_S, return_when=FIRST_COMPLETED)
        for each in ended:
            yield each.result()


class _Stoppable(Unobserved):
    """Looks from time to time whether all is to stop."""

    LOOK_EVERY: Final = 100  # things that happen

    def __init__(self) -> None:
        self._happened = 0

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        """Return whether the user has not asked to stop."""
        del now_ms, finished
        self._happened += 1
        return self._happened % self.LOOK_EVERY != 0 or not _stop.is_set()


def _begin(stop: Event) -> None:
    """Prepare a process: a Ctrl-C is for the one that began it, which then says what to do."""
    global _stop  # noqa: PLW0603  # what is common to all runs of a process cannot be sent with one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _stop = stop


_stop: Event


def _run(order: RunOrder, folder: Path, phrase: Phrase) -> RunAbout:
    try:
        return run_variant(order, folder, phrase=phrase, observer=_Stoppable())
    except FairleadError as wrong:
        # Not all errors can be sent from one process to another; their sentences can.
        raise SimulationError(f"{folder.name}: {wrong}") from None
