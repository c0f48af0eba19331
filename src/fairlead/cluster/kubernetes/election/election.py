"""An election in a thread of its own: its own connection, its own event loop.

The engine may hold the interpreter, and the network's thread may decode a long list; a renewal is
hardly delayed by either. What others ask is answered from one value that is replaced as a whole.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from socket import gethostname
from threading import Thread
from typing import Final
from uuid import uuid4

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.lanes import ACT_DEADLINE_S, lease_session
from fairlead.cluster.kubernetes.election.elector import STOPPING, Durations, Elector
from fairlead.cluster.kubernetes.election.lease import LeaseStore, Read
from fairlead.errors import ClusterError

_RELEASED_WITHIN_S: Final = 10.0  # a request that is on its way, then the release
_DURATIONS: Final = Durations(act_s=ACT_DEADLINE_S)
# Unlike the monotonic clock, this one goes on while the machine sleeps, as the clocks of other
# machines do. Only Linux has it.
_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_LOG: Final = logging.getLogger(__name__)


def steady_s() -> float:
    """Return the seconds of a clock that is never set."""
    return time.clock_gettime(_CLOCK)


def unique_identity() -> str:
    """Return an identity for this process that no other process ever has."""
    return f"{gethostname()}_{uuid4()}"


class Election:
    """A candidate for one Lease. Its methods may be called by any thread."""

    def __init__(
        self,
        access: Access,
        namespace: str,
        name: str,
        identity: str,
        *,
        durations: Durations = _DURATIONS,
        clock: Callable[[], float] = steady_s,
    ) -> None:
        """Ask nothing yet. The credentials of *access* are used by nothing else.

        *Identity* must be new: see `unique_identity`.
        """
        self.name = f"{namespace}/{name}"
        self._access = access
        self._place = namespace, name
        self._durations = durations
        self._clock = clock
        self._elector = Elector(identity, durations)
        self._gained: Future[None] = Future()
        self._ended: Future[str] = Future()
        for each in (self._gained, self._ended):
            each.set_running_or_notify_cancel()  # a task that waits may be cancelled, these not
        self._is_resigning = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._thread: Thread | None = None
        self._said = ""

    def hindrance(self) -> str:
        """Return why no act may begin now; "": it may."""
        if self._is_resigning:
            return STOPPING
        return self._elector.standing.hindrance(self._clock(), self._durations)

    def term(self) -> str:
        """Return the holder and the number of the term, as in the Lease; "": not the leader."""
        return self._elector.standing.term

    def is_leader(self) -> bool:
        """Return whether this process holds the Lease, as of the last answer."""
        return bool(self._elector.standing.term)

    def start(self) -> None:
        """Take part from now on."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="election", daemon=True)
            self._thread.start()

    async def gained(self) -> None:
        """Take part, and wait until this process leads and no former leader can act any more.

        What is to be acted on has to be read after that. Raises what ended the election before.
        """
        self.start()
        await asyncio.wrap_future(self._gained)

    async def lost(self) -> str:
        """Wait until this process does not lead any more, for good; returns why.

        Raises what ended the thread, if that was a defect.
        """
        return await asyncio.wrap_future(self._ended)

    async def release(self) -> None:
        """Give the Lease up, so that another replica leads at once.

        To be called when all acts have ended. If some have not, leave the Lease to expire: end the
        process without this call.
        """
        self._is_resigning = True
        if self._thread is None:
            return
        self._wake_up()
        waiting = asyncio.wrap_future(self._ended)
        done, _ = await asyncio.wait({waiting}, timeout=_RELEASED_WITHIN_S)
        if not done:
            _LOG.warning("the lease %s could not be released in time; it expires", self.name)
        elif (failure := waiting.exception()) is not None:
            _LOG.warning("the lease %s was not released; it expires: %s", self.name, failure)

    def _wake_up(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the thread has ended
                loop.call_soon_threadsafe(self._wake.set)

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            asyncio.run(self._elect())
        except BaseException as problem:  # noqa: BLE001  it is raised where the end is awaited
            failure = problem
            self._elector.end(f"the election has failed: {problem}")
        why = self._elector.standing.why_not
        if not self._gained.done():
            self._gained.set_exception(failure or ClusterError(f"lease {self.name}: {why}"))
        if failure is None:
            self._ended.set_result(why)
        else:
            self._ended.set_exception(failure)

    async def _elect(self) -> None:
        self._loop = asyncio.get_running_loop()
        session = lease_session(self._access)
        store = LeaseStore(session, *self._place)
        elector = self._elector
        try:
            while not elector.is_over:
                self._announce()
                if self._is_resigning and not elector.is_resigning:
                    elector.resign(self._clock())
                elif elector.due_s <= self._clock():
                    await self._turn(store)
                else:
                    await self._pause()
        finally:
            await session.close()

    async def _turn(self, store: LeaseStore) -> None:
        """Send what the elector asks for, and give it the answer."""
        elector, request, sent_s = self._elector, self._elector.request, self._clock()
        try:
            if isinstance(request, Read):
                found = await store.read()
                elector.found(found, sent_s, self._clock())
            else:
                written = await store.write(request, datetime.now(UTC))
                elector.written(written, sent_s, self._clock())
        except ClusterError as problem:
            elector.failed(str(problem), sent_s, self._clock())
        self._log()

    async def _pause(self) -> None:
        """Sleep until something is due, or until this process is to resign."""
        standing, until_s = self._elector.standing, self._elector.due_s
        if standing.term and not self._gained.done():
            until_s = min(until_s, standing.acts_from_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(until_s - self._clock()):
                await self._wake.wait()
                self._wake.clear()

    def _announce(self) -> None:
        standing = self._elector.standing
        if standing.term and standing.acts_from_s <= self._clock() and not self._gained.done():
            self._gained.set_result(None)

    def _log(self) -> None:
        """Say how things stand, if that has changed."""
        standing = self._elector.standing
        held = f"held in term {standing.term}"
        if standing.acts_from_s > self._clock():
            held += "; it was not released by the leader before, so acts wait"
        text = standing.problem or standing.why_not or held
        if text != self._said:
            self._said = text
            level = logging.WARNING if standing.problem else logging.INFO
            _LOG.log(level, "lease %s: %s", self.name, text)
