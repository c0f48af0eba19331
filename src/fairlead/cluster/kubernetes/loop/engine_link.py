"""What the engine's thread and the network's thread give each other.

Facts and outcomes go through a mailbox. Acts come the other way: they are handed to the event loop,
which owns the lanes. Neither thread ever waits for the other.
"""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Outcome
from fairlead.cluster.kubernetes.acting.lane import Lane
from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.loop.leadership import Leadership
from fairlead.cluster.kubernetes.watching.facts import Gone, ObjectFact, Seen
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.last_seen import LastSeen
from fairlead.model.plan import Plan

_LOG: Final = logging.getLogger(__name__)


class Watcher(Protocol):
    """Takes note of what is decided and done, for people: reports, metrics, recorded usage."""

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:
        """Take note of a plan. Called by the engine's thread; the state may be read."""

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Take note that nothing is to be planned. Called by the engine's thread."""

    def ended(self, outcome: Outcome) -> None:
        """Take note of what became of an act. Called by the event loop."""


class EngineLink:
    """The surroundings of an engine's thread, and the receiver of what lanes report."""

    def __init__(
        self,
        mailbox: Mailbox,
        freshness: Freshness,
        leadership: Leadership,
        watchers: Sequence[Watcher],
    ) -> None:
        """Belong to the event loop that runs now."""
        self.last_seen = LastSeen()
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._event_loop = asyncio.get_running_loop()
        self._mailbox = mailbox
        self._freshness = freshness
        self._leadership = leadership
        self._watchers = watchers
        self._lanes: tuple[Lane, Lane] | None = None
        # Each is written by one thread only, so that neither needs a lock.
        self._binds_given = 0
        self._binds_taken = 0
        self._is_frozen = False

    def connect(self, binds: Lane, evictions: Lane) -> None:
        """Give acts to these lanes. Evictions have their own, so that no bind delays them."""
        self._lanes = binds, evictions

    def take(self, kind: GroupKind, fact: ObjectFact) -> None:
        """Take in what a watch says. Called by the event loop."""
        self.last_seen.note(kind, fact)
        self._mailbox.put(fact)

    def report(self, news: Outcome | Seen | Gone) -> None:
        """Take in what a lane says. Called by the event loop."""
        if isinstance(news, Outcome):
            for each in self._watchers:
                each.ended(news)
        else:
            self.last_seen.note(("", "Pod"), news)
        self._mailbox.put(news)

    def may_bind(self, act: Bind) -> bool:
        """Return whether what was seen last allows a bind."""
        return self.last_seen.may_bind(act.target.uid, act.node, is_cordoned=act.is_cordoned)

    def hindrance(self) -> str:
        """Return why nothing may be planned or begun now; "": it may. Called by any thread."""
        if not self._freshness.is_current():
            return f"waiting for {', '.join(self._freshness.not_current()) or 'the watches'}"
        return self._leadership.hindrance()

    def waiting_binds(self) -> int:
        """Return how many bindings are not begun yet."""
        assert self._lanes is not None
        return self._binds_given - self._binds_taken + self._lanes[0].waiting

    def submit(self, batches: Sequence[Sequence[Act]]) -> None:
        """Let acts be carried out by the event loop. Called by the engine's thread."""
        binds = [each for each in batches if isinstance(each[0], Bind)]
        others = [each for each in batches if not isinstance(each[0], Bind)]
        self._binds_given += sum(map(len, binds))
        self._event_loop.call_soon_threadsafe(self._begin, binds, others)

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:
        """Pass a plan on to those that take note. Called by the engine's thread."""
        is_first = not self._is_frozen and not plan.is_cut
        if is_first:
            state = engine.state
            counts = len(state.nodes), len(state.queues), len(state.workloads)
            _LOG.info("all objects are listed: %d nodes, %d queues, %d workloads", *counts)
        for each in self._watchers:
            each.planned(engine, plan, carried, took_s)
        if is_first:
            self._is_frozen = True
            freeze_what_is_there()

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Pass on that the engine rests. Called by the engine's thread."""
        for each in self._watchers:
            each.rested(engine, now_ms)

    def ended(self, failure: BaseException | None) -> None:
        """Take note that the engine's thread has ended. Called by it, as its last act.

        A plan may take longer than the event loop lives.
        """
        with contextlib.suppress(RuntimeError):
            self._event_loop.call_soon_threadsafe(self._note_end, failure)

    async def until_engine_ends(self) -> None:
        """Wait for the end of the engine's thread. Raises what ended it."""
        await self._end

    def _begin(self, binds: list[Sequence[Act]], others: list[Sequence[Act]]) -> None:
        assert self._lanes is not None
        lane_of_binds, lane_of_evictions = self._lanes
        lane_of_binds.submit(binds)
        self._binds_taken += sum(map(len, binds))
        lane_of_evictions.submit(others)

    def _note_end(self, failure: BaseException | None) -> None:
        if self._end.done():
            return
        if failure is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(failure)


def freeze_what_is_there() -> None:
    """Keep the collector of cycles from looking at the objects of the first list ever again."""
    gc.collect()
    gc.freeze()
