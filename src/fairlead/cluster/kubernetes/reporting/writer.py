"""Writes reports to the API server: prompt ones at once, others slowly.

Each lane has tasks of its own, so that a thousand reasons to wait delay no nomination. What cannot
be written now is kept until it can, or until something newer takes its place.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, assert_never

import msgspec

from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.errors import RefusedError
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.reporting.outbox import LaneName, Outbox
from fairlead.cluster.kubernetes.reporting.reports import (
    ObjectStatus,
    PodEvent,
    PodStatus,
    Report,
)
from fairlead.cluster.kubernetes.reporting.requests import (
    write_event,
    write_object_status,
    write_pod_status,
)
from fairlead.errors import ClusterError

_LOG: Final = logging.getLogger(__name__)


class Pace(msgspec.Struct, frozen=True):
    """How fast a lane writes: so many at once, each of them so many a second at most."""

    at_once: int
    per_second: float | None = None  # None: as fast as the API server answers


KINDS: Final = ("event", "pod-status", "queue-status")


class ReportCounts(msgspec.Struct):
    """What became of reports, by kind. Each is counted by several tasks, and read by any thread."""

    written: Counter[str] = msgspec.field(default_factory=lambda: Counter(dict.fromkeys(KINDS, 0)))
    failed: Counter[str] = msgspec.field(default_factory=lambda: Counter(dict.fromkeys(KINDS, 0)))
    dropped: Counter[str] = msgspec.field(default_factory=lambda: Counter(dict.fromkeys(KINDS, 0)))


class Writer:
    """Takes reports out of an outbox and writes them, for as long as its task lives."""

    def __init__(
        self,
        session: Session,
        outbox: Outbox,
        counts: ReportCounts,
        *,
        paces: Mapping[LaneName, Pace],
        hindrance: Callable[[], str],
        given_up: Callable[[Report], None],
        random: Callable[[], float],
    ) -> None:
        """Write nothing while *hindrance* says why; *given_up* gets what is not written."""
        self._counts = counts
        self._session = session
        self._outbox = outbox
        self._paces = paces
        self._hindrance = hindrance
        self._given_up = given_up
        self._random = random
        self._is_failing = False

    async def run(self) -> None:
        """Write what comes until the task is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane, pace in self._paces.items():
                for _ in range(pace.at_once):
                    tasks.create_task(self._follow(lane, pace))

    async def _follow(self, lane: LaneName, pace: Pace) -> None:
        clock = asyncio.get_running_loop()
        pauses = Backoff(self._random)
        shortest_s = 1 / pace.per_second if pace.per_second else 0.0
        while True:
            report = await self._outbox.next(lane)
            began_s = clock.time()
            pause_s = await self._attempt(lane, report, pauses)
            pause_s = max(pause_s, shortest_s - (clock.time() - began_s))
            if pause_s > 0:
                await asyncio.sleep(pause_s)

    async def _attempt(self, lane: LaneName, report: Report, pauses: Backoff) -> float:
        """Write *report* if that may be; returns how long to pause then."""
        if self._hindrance():
            self._outbox.done(report)
            self._given_up(report)
            return 0.0
        try:
            await self._write(report)
        except ClusterError as problem:
            return self._note_failure(lane, report, problem, pauses)
        self._counts.written[kind_of(report)] += 1
        self._outbox.done(report)
        self._is_failing = False
        pauses.reset()
        return 0.0

    async def _write(self, report: Report) -> None:
        match report:
            case PodStatus():
                await write_pod_status(self._session, report)
            case PodEvent():
                await write_event(self._session, report)
            case ObjectStatus():
                await write_object_status(self._session, report)
            case _:
                assert_never(report)

    def _note_failure(
        self, lane: LaneName, report: Report, problem: ClusterError, pauses: Backoff
    ) -> float:
        """Keep a report that may be written later, and say so once; returns how long to pause."""
        self._counts.failed[kind_of(report)] += 1
        if not self._is_failing:
            self._is_failing = True
            _LOG.warning("cannot write what users are to see: %s", problem)
        if problem.retry_after_s is not None:
            self._outbox.put_back(lane, report)
            return pauses.next_s(problem.retry_after_s)
        self._outbox.done(report)
        self._given_up(report)
        return pauses.next_s() if isinstance(problem, RefusedError) else 0.0


def kind_of(report: Report) -> str:
    """Return what kind of report it is, as metrics call it."""
    match report:
        case PodStatus():
            return "pod-status"
        case PodEvent():
            return "event"
        case ObjectStatus():
            return "queue-status"
        case _:
            assert_never(report)
