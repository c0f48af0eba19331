"""Records the usage of queues from a live cluster, in a thread that may wait for a disk."""

import logging
import queue
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Final

from fairlead.cluster.kubernetes.acting.acts import Outcome
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.store.recording.recorder import Recorder, StoreStatus
from fairlead.store.recording.state_levels import StateLevels, levels_of
from fairlead.usage.settings import MINUTE_MS, SECOND_MS

_LOOK_EVERY_MS: Final = SECOND_MS
_LOOK_AT_LEAST_EVERY_MS: Final = MINUTE_MS  # so that the record shows no gap where nothing changes
_MOST_WAITING: Final = 600  # observations; each is complete, so that a lost one blurs only the time

_LOG: Final = logging.getLogger(__name__)


class UsageRecording:
    """Takes the levels of queues while the engine's thread shows its state, and writes them."""

    def __init__(self, path: Path) -> None:
        """Begin nothing yet; the store at *path* is made if it is not there."""
        self._recorder = Recorder(path)
        self._observations: queue.Queue[tuple[StateLevels, int] | None] = queue.Queue(_MOST_WAITING)
        self._moment: int | None = None
        self._taken_ms = 0
        self._problem: str | None = None
        self._thread = Thread(target=self._write, name="usage", daemon=True)

    @property
    def status(self) -> StoreStatus:
        """Whether what is seen is being written."""
        return self._recorder.status

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self, within_s: float) -> None:
        """Write what is waiting, and end. What cannot be written in time is lost."""
        if not self._thread.is_alive():
            return
        with suppress(queue.Full):
            self._observations.put(None, timeout=within_s)
            self._thread.join(within_s)
        if self._thread.is_alive():
            _LOG.warning("the usage store did not take the last usage within %.0f s", within_s)

    def planned(self, engine: Engine, plan: Plan, _carried: Carried, _took_s: float) -> None:
        """Take the levels after a plan."""
        self._observe(engine.state, plan.taken_ms)

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Take the levels of a state that nothing is planned for."""
        self._observe(engine.state, now_ms)

    def ended(self, outcome: Outcome) -> None:
        """Take no note: what became of an act is seen in the state."""

    def _observe(self, state: ClusterState, now_ms: int) -> None:
        passed_ms = now_ms - self._taken_ms
        is_same = self._moment == state.moment
        if passed_ms < (_LOOK_AT_LEAST_EVERY_MS if is_same else _LOOK_EVERY_MS):
            return
        try:
            self._observations.put_nowait((levels_of(state), now_ms))
        except queue.Full:
            return  # the disk hangs; the engine must not
        self._moment, self._taken_ms = state.moment, now_ms

    def _write(self) -> None:
        while (observation := self._observations.get()) is not None:
            self._recorder.observe(*observation)
            if self._observations.empty():
                self._recorder.tidy_up(observation[1])
            self._report()
        self._recorder.close()
        self._report()

    def _report(self) -> None:
        """Log a problem of the store once, and that it is over."""
        status = self._recorder.status
        if status.problem is not None and self._problem is None:
            _LOG.warning("usage is not recorded for now, it waits in memory: %s", status.problem)
        elif status.problem is None and self._problem is not None:
            _LOG.info("usage is recorded again")
        self._problem = status.problem
