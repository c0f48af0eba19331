"""The shadow's thread: follows the cluster, plans, and compares; it carries nothing out."""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final, Protocol

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.shadow.comparison import Comparison
from fairlead.cluster.kubernetes.shadow.standing import Standing, news_between, standing_of
from fairlead.model.events import MemoryChanged
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Decision, Evict, Move, Start

_LEAST_PAUSE_S: Final = 1.0
_PAUSE_PER_PLAN: Final = 4  # a shadow takes a fifth of a core at most
_MOST_PLANS: Final = 10


class Onlooker(Protocol):
    """What the shadow's thread asks of the others, and gives them."""

    def hindrance(self) -> str:
        """Return why nothing can be compared now; "": it can."""

    def compared(self, engine: Engine, took_s: float) -> None:
        """Take note of a comparison, which took so long to decide. The state may be read."""

    def ended(self, failure: BaseException | None) -> None:
        """Take note that the thread has ended, because of *failure* or because it was asked to."""


class ShadowThread:
    """Runs an engine whose plans are only compared."""

    def __init__(
        self,
        engine: Engine,
        mailbox: Mailbox,
        comparison: Comparison,
        onlooker: Onlooker,
        now_ms: Callable[[], int],
    ) -> None:
        """Begin nothing yet."""
        self.beat_s = time.monotonic()  # when the thread last looked around
        self._engine = engine
        self._mailbox = mailbox
        self._comparison = comparison
        self._onlooker = onlooker
        self._now_ms = now_ms
        self._before: Standing | None = None
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="shadow", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Compare nothing any more; returns at once."""
        self._stopping.set()

    def join(self, at_most_s: float) -> bool:
        """Wait for the end; returns whether it came in time."""
        self._thread.join(at_most_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            while not self._stopping.is_set():
                self._stopping.wait(self._turn())
        except BaseException as problem:  # noqa: BLE001  the process ends, and says why
            failure = problem
        self._onlooker.ended(failure)

    def _turn(self) -> float:
        """Take in what came, and compare; returns for how many seconds to rest."""
        self.beat_s = time.monotonic()
        self._engine.take(self._mailbox.take(), self._now_ms())
        if self._onlooker.hindrance():
            return _LEAST_PAUSE_S
        return max(_LEAST_PAUSE_S, _PAUSE_PER_PLAN * self._compare())

    def _compare(self) -> float:
        """Decide what was to be done before the running scheduler's last acts, and compare.

        Returns how many seconds planning took.
        """
        engine, state = self._engine, self._engine.state
        before, after = self._before, standing_of(state)
        self._before = after
        if before is None:
            before = after  # what runs at the start was decided before
        news = news_between(before, after)
        now_ms, began_s = self._now_ms(), time.perf_counter()
        with state.trial():
            news.undo(state)
            decisions, memories = _decide(engine, now_ms)
        took_s = time.perf_counter() - began_s
        for memory in memories:
            if memory.workload in state.workloads:
                state.apply(memory)
        self._comparison.compare(state, decisions, news, now_ms)
        self._onlooker.compared(engine, took_s)
        return took_s


def _decide(engine: Engine, now_ms: int) -> tuple[list[Decision], tuple[MemoryChanged, ...]]:
    """Return all that Fairlead would do now, and what it would remember although it does nothing.

    As live, a plan is made again once the one before it is under way, because a plan may leave to
    the next one what depends on it. To be called within a trial.
    """
    done: list[Decision] = []
    plan = engine.plan(now_ms, at_most_starts=None, explain=True)
    memories = plan.memories
    for _ in range(_MOST_PLANS - 1):
        acts = [each for each in plan.decisions if isinstance(each, Start | Evict | Move)]
        if not acts:
            break
        done += acts
        apply(engine.state, plan)
        plan = engine.plan(now_ms, at_most_starts=None, explain=True)
    return [*done, *plan.decisions], memories
