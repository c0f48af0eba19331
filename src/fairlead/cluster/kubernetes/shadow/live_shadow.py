"""Follows a cluster that another scheduler runs, and compares. It writes nothing to it at all."""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Final, Protocol

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.lanes import watches_session
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.engine.steady_clock import SteadyClock
from fairlead.cluster.kubernetes.loop.supervision import Part, Supervision
from fairlead.cluster.kubernetes.shadow.comparison import Comparison
from fairlead.cluster.kubernetes.shadow.thread import ShadowThread
from fairlead.cluster.kubernetes.watching.following import Following
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.manifest.text.documents import Document
from fairlead.manifest.translate.family import OF_A_CLUSTER
from fairlead.policy.contract import PolicyName

_ENDS_WITHIN_S: Final = 10.0

_LOG: Final = logging.getLogger(__name__)


class ShadowWatcher(Protocol):
    """Takes note of each comparison, for people: metrics and pages."""

    def compared(self, engine: Engine, comparison: Comparison, took_s: float) -> None:
        """Take note. Called by the shadow's thread; the state may be read."""


class LiveShadow:
    """What Fairlead would do on one cluster, under one rule set."""

    def __init__(self, access: Access, policy: PolicyName, given: Sequence[Document]) -> None:
        """Connect to nothing yet; *given* are settings. Raises ManifestError if they are wrong.

        To be made in the event loop that runs it.
        """
        self.comparison = Comparison()
        self._access = access
        self._policy = policy
        self._engine = Engine(policy, given, OF_A_CLUSTER)
        self._mailbox = Mailbox()
        self._event_loop = asyncio.get_running_loop()
        self._freshness = Freshness(self._event_loop.time)
        self._end: asyncio.Future[None] = self._event_loop.create_future()
        self._watchers: Sequence[ShadowWatcher] = ()
        self._thread = ShadowThread(
            self._engine, self._mailbox, self.comparison, self, SteadyClock().now_ms
        )

    def engine_beat_s(self) -> float:
        """Return when the shadow's thread last looked around, by the monotonic clock."""
        return self._thread.beat_s

    def is_ready(self) -> bool:
        """Return whether all objects are known."""
        return self._freshness.are_all_listed()

    def awaited(self) -> list[str]:
        """Return the kinds of object of which what is known is not of now."""
        return self._freshness.not_current()

    async def run(self, stop: asyncio.Event, watchers: Sequence[ShadowWatcher]) -> None:
        """Compare until *stop* is set. Raises what ended a part that nothing had asked to end."""
        self._watchers = watchers
        session = watches_session(self._access)
        following = Following(
            session,
            self._policy,
            take=lambda _, fact: self._mailbox.put(fact),
            freshness=self._freshness,
            random=random.random,
        )
        parts: dict[str, Part] = {"watches": following.run, "engine": self._until_end}
        supervision = Supervision(parts)
        stopping = asyncio.create_task(_wait_for(stop), name="stop")
        self._thread.start()
        try:
            await supervision.until(stopping)
        finally:
            self._thread.stop()
            stopping.cancel()
            await supervision.end()
            await session.close()
            if not await asyncio.to_thread(self._thread.join, _ENDS_WITHIN_S):
                _LOG.warning("the shadow is still planning; its last plan is not compared")

    def hindrance(self) -> str:
        """Return why nothing can be compared now; "": it can. Called by any thread."""
        if self._freshness.is_current():
            return ""
        return f"waiting for {', '.join(self._freshness.not_current()) or 'the watches'}"

    def compared(self, engine: Engine, took_s: float) -> None:
        """Pass a comparison on to those that take note. Called by the shadow's thread."""
        for each in self._watchers:
            each.compared(engine, self.comparison, took_s)

    def ended(self, failure: BaseException | None) -> None:
        """Take note that the thread has ended. Called by it, as its last act."""
        self._event_loop.call_soon_threadsafe(self._note_end, failure)

    async def _until_end(self) -> None:
        await self._end

    def _note_end(self, failure: BaseException | None) -> None:
        if self._end.done():
            return
        if failure is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(failure)


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()
