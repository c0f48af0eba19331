"""The engine's thread: mail in, plans, acts out, for as long as the scheduler lives."""

import logging
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Final, Protocol

from fairlead.cluster.kubernetes.acting.acts import Act
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mail, Mailbox
from fairlead.cluster.kubernetes.engine.pacing import AT_MOST_STARTS, MOST_WAITING_BINDS, Pacing
from fairlead.model.plan import Plan

_LONGEST_NAP_S: Final = 1.0
_MOST_FAILURES: Final = 3  # plans in a row that end in a defect of ours

_LOG: Final = logging.getLogger(__name__)


class Surroundings(Protocol):
    """What the engine's thread asks of the others, and gives them."""

    def hindrance(self) -> str:
        """Return why nothing may be planned now; "": it may."""

    def waiting_binds(self) -> int:
        """Return how many bindings are not begun yet."""

    def submit(self, batches: Sequence[Sequence[Act]]) -> None:
        """Let acts be carried out, those of a batch all or none."""

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:
        """Take note of a plan, and of what is carried out of it. The state may be read."""

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Take note that nothing is to be planned now. The state may be read."""

    def ended(self, failure: BaseException | None) -> None:
        """Take note that the thread has ended, because of *failure* or because it was asked to."""


class EngineThread:
    """Runs an engine. All it says to others it says through `Surroundings`."""

    def __init__(
        self,
        engine: Engine,
        mailbox: Mailbox,
        surroundings: Surroundings,
        now_ms: Callable[[], int],
    ) -> None:
        """Begin nothing yet."""
        self.beat_s = time.monotonic()  # when the thread last looked around
        self._engine = engine
        self._mailbox = mailbox
        self._surroundings = surroundings
        self._now_ms = now_ms
        self._pacing = Pacing()
        self._failures = 0
        self._overdue_ms = 0
        self._is_stopping = False
        self._thread = Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Plan nothing any more; returns at once."""
        self._is_stopping = True
        self._mailbox.wake()

    def join(self, at_most_s: float) -> bool:
        """Wait for the end; returns whether it came in time."""
        self._thread.join(at_most_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            while not self._is_stopping:
                nap_s = self.turn()
                if nap_s:
                    self._mailbox.wait(nap_s)
        except BaseException as problem:  # noqa: BLE001  the process ends, and says why
            failure = problem
        self._surroundings.ended(failure)

    def turn(self) -> float:
        """Take in what came, then plan if it is due; returns for how long to await mail, in s.

        0: there may be more to do at once.
        """
        self.beat_s = time.monotonic()
        engine, now_ms = self._engine, self._now_ms()
        engine.take(self._mailbox.take(), now_ms)
        self._look_for_overdue(now_ms)
        if self._plan_if_due(now_ms):
            return 0.0
        self._surroundings.rested(engine, now_ms)
        return self._nap_s()

    def _nap_s(self) -> float:
        state = self._engine.state
        next_ms = self._pacing.next_ms(state.moment, is_waiting=state.has_waiting())
        if next_ms is None or not self._may_plan():
            return _LONGEST_NAP_S  # outcomes wake the thread, so that it sees when fewer binds wait
        return min(_LONGEST_NAP_S, max(0.001, (next_ms - self._now_ms()) / 1000))

    def _plan_if_due(self, now_ms: int) -> bool:
        """Plan, unless that is not due or not possible; returns whether more is due at once."""
        engine, pacing = self._engine, self._pacing
        if not self._may_plan():
            return False
        due = pacing.due(engine.state.moment, now_ms, is_waiting=engine.state.has_waiting())
        if due is None:
            return False
        began_s = time.perf_counter()
        try:
            plan = engine.plan(now_ms, at_most_starts=AT_MOST_STARTS, explain=due.explain)
        except Exception:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise
            _LOG.exception("a plan failed, which is a defect of Fairlead; it is made again")
            return False
        self._failures = 0
        took_s = time.perf_counter() - began_s
        is_news = self._take_late_mail(now_ms)
        if self._is_stopping:
            return False
        carried = engine.carry_out(plan, now_ms)
        # What is overtaken by no news would be so again: that waits for another change.
        may_differ = is_news or bool(carried.batches)
        release_ms = engine.executor.next_release_ms(now_ms)
        pacing.planned(plan, due, engine.state.moment, release_ms, may_differ=may_differ)
        if carried.batches:
            self._surroundings.submit(carried.batches)
        self._surroundings.planned(engine, plan, carried, took_s)
        return may_differ

    def _may_plan(self) -> bool:
        surroundings = self._surroundings
        return not surroundings.hindrance() and surroundings.waiting_binds() <= MOST_WAITING_BINDS

    def _take_late_mail(self, now_ms: int) -> bool:
        """Take in what came while a plan was made; returns whether it changed the state."""
        mail: list[Mail] = self._mailbox.take()
        before, moment = self._engine.state, self._engine.state.moment
        if mail:
            self._engine.take(mail, now_ms)
        return (self._engine.state, self._engine.state.moment) != (before, moment)

    def _look_for_overdue(self, now_ms: int) -> None:
        if now_ms < self._overdue_ms:
            return
        self._overdue_ms = now_ms + 1000
        batches = self._engine.overdue(now_ms)
        if batches:
            self._surroundings.submit(batches)
