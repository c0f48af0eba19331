"""A watch that runs beside a test, and what it has said so far."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress

from fairlead.cluster.kubernetes.acting.requests import PODS
from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.lists import list_objects
from fairlead.cluster.kubernetes.client.watch import (
    IDLE_S,
    Changed,
    Connected,
    Interrupted,
    WatchEvent,
    watch,
)
from fairlead.errors import ClusterError
from tests.live.open_session import open_session
from tests.live.waiting import eventually
from tools.k8s.cluster import Cluster


class Watcher:
    """The events of one watch, in their order; *problem* is what ended it."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.problem: ClusterError | None = None

    def changes(self) -> list[tuple[str, str]]:
        """Return what happened to which object: ``("added", "p1")``."""
        return [
            (each.change, str(each.object["metadata"]["name"]))  # type: ignore[index, call-overload]
            for each in self.events
            if isinstance(each, Changed)
        ]

    def of_type(self, wanted: type[WatchEvent]) -> list[WatchEvent]:
        return [each for each in self.events if isinstance(each, wanted)]

    async def connected(self, times: int = 1) -> None:
        """Return once the watch has run so many times."""
        await eventually(
            f"the watch has connected {times} times",
            lambda: self.events,
            lambda seen: sum(isinstance(each, Connected) for each in seen) >= times,
        )

    async def saw(self, *changes: tuple[str, str]) -> None:
        """Return once the watch has said that; the test fails if it never says exactly that."""
        await eventually(
            f"the watch says {list(changes)}", self.changes, lambda seen: seen == list(changes)
        )

    async def ended(self) -> ClusterError:
        """Return the error that ended the watch."""
        await eventually(
            "the watch ends with an error",
            lambda: (self.problem, self.events),
            lambda s: bool(s[0]),
        )
        assert self.problem is not None
        return self.problem

    async def interrupted(self) -> ClusterError | None:
        """Return why the watch was interrupted, once it is."""
        await eventually("the watch is interrupted", lambda: self.of_type(Interrupted))
        [first, *_] = self.of_type(Interrupted)
        assert isinstance(first, Interrupted)
        return first.error


@asynccontextmanager
async def watching(
    cluster: Cluster,
    namespace: str,
    version: str,
    *,
    idle_s: float = IDLE_S,
    random: Callable[[], float] = lambda: 0.5,
) -> AsyncIterator[Watcher]:
    """Watch the pods of a namespace since *version* for the time of the block."""
    watcher = Watcher()

    async def note() -> None:
        async with open_session(cluster) as session:
            pauses = Backoff(random, most_s=1.0)
            events = watch(
                session, PODS, version, namespace=namespace, pauses=pauses, idle_s=idle_s
            )
            async with aclosing(events):
                try:
                    async for event in events:
                        watcher.events.append(event)
                except ClusterError as problem:
                    watcher.problem = problem

    task = asyncio.create_task(note())
    try:
        yield watcher
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def version_of_pods(cluster: Cluster, namespace: str) -> str:
    """Return the version that a list of the pods has now."""
    async with open_session(cluster) as session:
        return (await list_objects(session, PODS, namespace=namespace)).resource_version
