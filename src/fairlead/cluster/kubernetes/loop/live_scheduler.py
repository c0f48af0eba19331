"""One scheduler of one cluster: starts its parts, watches over them, and ends them in order.

A part that ends without being asked to ends the whole: a scheduler that goes on without a watch, or
without its engine, would be worse than one that is started anew. Nothing is kept across a restart
but the recorded usage; the rest is on the API server.
"""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

from fairlead.cluster.kubernetes.acting.lane import Lane, Permission
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.lanes import (
    ACT_CONNECTIONS,
    ACT_DEADLINE_S,
    acts_session,
    watches_session,
)
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.engine.steady_clock import SteadyClock
from fairlead.cluster.kubernetes.engine.thread import EngineThread
from fairlead.cluster.kubernetes.loop.engine_link import EngineLink, Watcher
from fairlead.cluster.kubernetes.loop.leadership import Leadership
from fairlead.cluster.kubernetes.loop.supervision import EndedError, Part, Supervision
from fairlead.cluster.kubernetes.watching.following import Following
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.manifest.text.documents import Document
from fairlead.model.collector import rare_collections
from fairlead.policy.contract import PolicyName

_EVICTIONS_AT_ONCE: Final = 8
_ACTS_END_WITHIN_S: Final = ACT_DEADLINE_S + 1  # one whose answer is lost is read once more
_ENGINE_ENDS_WITHIN_S: Final = 10.0

_LOG: Final = logging.getLogger(__name__)


class LiveScheduler:
    """A scheduler that acts on one cluster, under one rule set."""

    def __init__(
        self,
        access: Access,
        policy: PolicyName,
        given: Sequence[Document],
        leadership: Leadership,
    ) -> None:
        """Connect to nothing yet; *given* are settings. Raises ManifestError if they are wrong.

        To be made in the event loop that runs it.
        """
        self._access = access
        self._policy = policy
        self._leadership = leadership
        self._engine = Engine(policy, given)
        self._mailbox = Mailbox()
        self._freshness = Freshness(asyncio.get_running_loop().time)
        self._thread: EngineThread | None = None
        self._have_acts_ended = True

    def engine_beat_s(self) -> float | None:
        """Return when the engine last looked around, by the monotonic clock; None: not yet."""
        return None if self._thread is None else self._thread.beat_s

    def is_ready(self) -> bool:
        """Return whether all objects are known, or another replica leads."""
        return not self._leadership.is_leader() or self._freshness.are_all_listed()

    def awaited(self) -> list[str]:
        """Return the kinds of object of which what is known is not of now."""
        return self._freshness.not_current()

    async def run(
        self, stop: asyncio.Event, watchers: Sequence[Watcher], tasks: Mapping[str, Part]
    ) -> None:
        """Schedule until *stop* is set, with the *tasks* of *watchers* while this process leads.

        Raises what ended a part that nothing had asked to end.
        """
        stopping = asyncio.create_task(_wait_for(stop), name="stop")
        leading = asyncio.create_task(self._leadership.gained(), name="election")
        try:
            await asyncio.wait({stopping, leading}, return_when=asyncio.FIRST_COMPLETED)
            if leading.done() and not stopping.done():
                leading.result()
                with rare_collections():
                    await self._lead(stopping, watchers, tasks)
        finally:
            for each in (stopping, leading):
                each.cancel()
            if self._have_acts_ended:  # else another leader must wait until the Lease expires
                await self._leadership.release()

    async def _lead(
        self,
        stopping: "asyncio.Task[None]",
        watchers: Sequence[Watcher],
        tasks: Mapping[str, Part],
    ) -> None:
        """Follow the cluster and act on it. What was known before this process led is not used."""
        async with AsyncExitStack() as stack:
            acts = acts_session(self._access)
            stack.push_async_callback(acts.close)
            watches = watches_session(self._access)
            stack.push_async_callback(watches.close)
            link = EngineLink(self._mailbox, self._freshness, self._leadership, watchers)
            permission = Permission(
                hindrance=link.hindrance, may_bind=link.may_bind, term=self._leadership.term
            )
            widths = {
                "binds": ACT_CONNECTIONS - _EVICTIONS_AT_ONCE,
                "evictions": _EVICTIONS_AT_ONCE,
            }
            lanes = [
                Lane(name, acts, permission, width=width, report=link.report, random=random.random)
                for name, width in widths.items()
            ]
            link.connect(*lanes)
            following = Following(
                watches,
                self._policy,
                take=link.take,
                freshness=self._freshness,
                random=random.random,
            )
            parts: dict[str, Part] = {lane.name: lane.run for lane in lanes}
            parts["watches"] = following.run
            parts["leadership"] = self._until_lost
            parts["engine"] = link.until_engine_ends
            await self._run_parts(link, lanes, parts | dict(tasks), stopping)

    async def _run_parts(
        self,
        link: EngineLink,
        lanes: Sequence[Lane],
        parts: Mapping[str, Part],
        stopping: "asyncio.Task[None]",
    ) -> None:
        thread = EngineThread(self._engine, self._mailbox, link, SteadyClock().now_ms)
        self._thread = thread
        self._have_acts_ended = False
        supervision = Supervision(parts)
        thread.start()
        try:
            await supervision.until(stopping)
            _LOG.info("stopping: nothing is begun any more, what is on its way may end")
        finally:
            thread.stop()
            self._have_acts_ended = await _end_acts(lanes)
            await supervision.end()
            if not await asyncio.to_thread(thread.join, _ENGINE_ENDS_WITHIN_S):
                _LOG.warning("the engine is still planning; its plan is not carried out")

    async def _until_lost(self) -> None:
        raise EndedError(f"this process does not lead any more: {await self._leadership.lost()}")


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()


async def _end_acts(lanes: Sequence[Lane]) -> bool:
    """Begin nothing more; returns whether what is on its way has ended, for which it waits."""
    for lane in lanes:
        lane.abandon()
    try:
        async with asyncio.timeout(_ACTS_END_WITHIN_S):
            while not all(lane.is_idle() for lane in lanes):
                await asyncio.sleep(0.01)
        return True
    except TimeoutError:
        _LOG.warning(
            "some requests have no answer after %.0f s; the next start sees what became of them",
            _ACTS_END_WITHIN_S,
        )
        return False
