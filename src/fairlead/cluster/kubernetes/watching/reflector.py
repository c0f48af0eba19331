"""Follows all objects of one kind: a list, then a watch, then again, for as long as it is asked to.

What is seen goes out as facts; nothing is kept here. Whatever fails is tried again, more seldom
with each failure, and for as long as it fails the kind is not current.
"""

import logging
import math
from asyncio import get_running_loop, sleep
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.client.errors import GoneError
from fairlead.cluster.kubernetes.client.lists import list_objects
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Query, Session
from fairlead.cluster.kubernetes.client.watch import (
    Bookmark,
    Changed,
    Connected,
    Interrupted,
    WatchEvent,
    watch,
)
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact, Seen
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.errors import ClusterError
from fairlead.manifest.kinds import kind_title

_SAY_AGAIN_S: Final = 60.0

_LOG: Final = logging.getLogger(__name__)


class Reflector:
    """One kind of object, followed until the task that runs it is cancelled."""

    def __init__(
        self,
        session: Session,
        kind: GroupKind,
        resource: Resource,
        *,
        query: Query = (),
        take: Callable[[GroupKind, ObjectFact], None],
        freshness: Freshness,
        random: Callable[[], float],
        listed_at: str = "",
    ) -> None:
        """Give every fact to *take*, and say in *freshness* how current they are.

        *listed_at* is the version of a list that is known already: the first watch begins there.
        """
        self._session = session
        self._kind = kind
        self._resource = resource
        self._query = query
        self._take = take
        self._freshness = freshness
        self._pauses = Backoff(random)
        self._list_pauses = Backoff(random)
        self._listed_at = listed_at
        self._problems = _Problems(kind_title(*kind))
        freshness.expect(kind)

    async def run(self) -> None:
        """Follow the kind for ever. Raises nothing that an API server can cause."""
        while True:
            try:
                version = await self._list()
                await self._watch(version)
            except GoneError:
                self._freshness.interrupted(self._kind)
                await sleep(self._list_pauses.next_s())
            except ClusterError as problem:
                self._freshness.interrupted(self._kind)
                pause_s = self._list_pauses.next_s(problem.retry_after_s or 0)
                self._problems.note("cannot follow", problem)
                await sleep(pause_s)

    async def _list(self) -> str:
        if self._listed_at:
            version, self._listed_at = self._listed_at, ""
            self._freshness.listed(self._kind)
            return version
        listing = await list_objects(self._session, self._resource, query=self._query)
        self._take(self._kind, Listed(self._kind, listing.objects, listing.resource_version))
        self._freshness.listed(self._kind)
        return listing.resource_version

    async def _watch(self, version: str) -> None:
        async with aclosing(
            watch(self._session, self._resource, version, query=self._query, pauses=self._pauses)
        ) as events:
            async for event in events:
                self._note(event)

    def _note(self, event: WatchEvent) -> None:
        match event:
            case Changed(change=change):
                self._list_pauses.reset()
                is_gone = change == "deleted"
                self._take(self._kind, Gone(event.object) if is_gone else Seen(event.object))
            case Connected():
                # No reset yet: a server that forgets each version at once answers like this, too.
                self._freshness.resumed(self._kind)
                self._problems.end()
            case Interrupted(error=error):
                self._freshness.interrupted(self._kind)
                if error is not None:
                    self._problems.note("cannot watch", error)
            case Bookmark():
                self._list_pauses.reset()


class _Problems:
    """Logs why a kind cannot be followed: each problem once, and once a minute while it lasts.

    There is an attempt every second or so for each of a dozen kinds, and one API server that is
    down would fill a log with the same line.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = ""
        self._said_s = -math.inf

    def note(self, what: str, problem: ClusterError) -> None:
        now_s = get_running_loop().time()
        said = f"{what} {self._title}: {problem}"
        if said != self._said or now_s >= self._said_s + _SAY_AGAIN_S:
            self._said, self._said_s = said, now_s
            _LOG.warning("%s", said)

    def end(self) -> None:
        if self._said:
            self._said = ""
            _LOG.info("following %s again", self._title)
