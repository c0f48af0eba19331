"""Reports that wait to be written: the newest of each subject, and never more than a bound.

Any thread leaves reports; tasks of one event loop take them. Reports about one subject are never
written at the same time, so that the older one cannot come last.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Literal, TypeAlias

from fairlead.cluster.kubernetes.reporting.reports import Report, Subject

LaneName: TypeAlias = Literal["prompt", "waits", "starts"]
"""Prompt: evictions, nominations and quotas. Waits: why pods wait. Starts: where they start."""


class Outbox:
    """What is to be written, by lane, in the order in which it came."""

    def __init__(self, most: Mapping[LaneName, int]) -> None:
        """Hold at most so many reports in each lane."""
        self._most = most
        self._lanes: dict[LaneName, dict[Subject, Report]] = {lane: {} for lane in most}
        self._busy: set[Subject] = set()
        self._lock = Lock()
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self._sleepers: dict[LaneName, deque[asyncio.Future[None]]] = {
            lane: deque() for lane in most
        }

    def put(self, lane: LaneName, report: Report) -> bool:
        """Leave a report in place of an older one; returns whether there is room for it.

        A subject that is to be written promptly stays so when more is said about it.
        """
        subject = report.subject
        with self._lock:
            if lane == "waits" and subject in self._lanes["prompt"]:
                lane = "prompt"
            elif lane == "prompt":
                self._lanes["waits"].pop(subject, None)
            waiting = self._lanes[lane]
            if subject not in waiting and len(waiting) >= self._most[lane]:
                return False
            waiting[subject] = report
            self._wake(lane)
            return True

    def put_back(self, lane: LaneName, report: Report) -> None:
        """Leave a report that could not be written, unless there is a newer one; it is not busy."""
        with self._lock:
            self._busy.discard(report.subject)
            if not any(report.subject in each for each in self._lanes.values()):
                self._lanes[lane][report.subject] = report
            self._wake_all()

    def done(self, report: Report) -> None:
        """Note that nothing is written about the subject of *report* any more."""
        with self._lock:
            self._busy.discard(report.subject)
            if any(report.subject in each for each in self._lanes.values()):
                self._wake_all()

    async def next(self, lane: LaneName) -> Report:
        """Wait for a report about which nothing is being written, and take it."""
        self._event_loop = asyncio.get_running_loop()
        while True:
            with self._lock:
                report = self._take(lane)
                if report is not None:
                    return report
                sleeper = self._event_loop.create_future()
                self._sleepers[lane].append(sleeper)
            try:
                await sleeper
            except asyncio.CancelledError:
                self._forget(lane, sleeper)
                raise

    def waiting(self, lane: LaneName) -> int:
        """Return how many reports wait."""
        return len(self._lanes[lane])

    def _take(self, lane: LaneName) -> Report | None:
        waiting = self._lanes[lane]
        subject = next((each for each in waiting if each not in self._busy), None)
        if subject is None:
            return None
        self._busy.add(subject)
        return waiting.pop(subject)

    def _forget(self, lane: LaneName, sleeper: "asyncio.Future[None]") -> None:
        """Wake a task no more that has ended: its event loop may be closed when a thread puts."""
        with self._lock, suppress(ValueError):
            self._sleepers[lane].remove(sleeper)

    def _wake_all(self) -> None:
        for lane in self._lanes:
            self._wake(lane)

    def _wake(self, lane: LaneName) -> None:
        if self._sleepers[lane] and self._event_loop is not None:
            sleeper = self._sleepers[lane].popleft()
            self._event_loop.call_soon_threadsafe(_end_sleep, sleeper)


def _end_sleep(sleeper: "asyncio.Future[None]") -> None:
    if not sleeper.done():  # its task may have been cancelled
        sleeper.set_result(None)
