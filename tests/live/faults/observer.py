"""Watches a cluster while a scheduler works in it, and notices if it missed anything.

It has its own connections to the API server, so that no fault of the proxy concerns it. A watch
that breaks goes on from the last version that it saw. Where that is not possible, because the API
server was started anew, the gap is counted, and a new list says what there is after it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final

import aiohttp

from tests.live.api import Object
from tests.live.faults.admin import Admin, RefusedError, abandon
from tests.live.faults.history import KINDS, Change, Fact, History, Picture

_GONE: Final = 410
_AGAIN_S: Final = 0.05
_CATCHES_UP_WITHIN_S: Final = 10.0
_CHANGES: Final[dict[str, Change]] = {
    "ADDED": "added",
    "MODIFIED": "modified",
    "DELETED": "deleted",
}
_MAX_LINE_BYTES: Final = 2**22


class _MissedError(Exception):
    """The watch cannot go on where it was."""


class Observer:
    """The history of a cluster from one moment on, and how it is now."""

    def __init__(self, admin: Admin) -> None:
        """Begin to look with `watching`."""
        self.history = History()
        self.now = Picture()
        self._admin = admin
        self._changed = asyncio.Event()

    async def until(self, holds: Callable[[Picture], bool], within_s: float) -> bool:
        """Wait until something *holds*; returns whether it came to that in time."""
        try:
            async with asyncio.timeout(within_s):
                while not holds(self.now):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def check_complete(self) -> None:
        """Raise AssertionError unless all that the API server has came by here."""
        async with asyncio.timeout(_CATCHES_UP_WITHIN_S):
            for kind in KINDS:
                while await self._versions(kind) != _versions(self.now.of(kind)):
                    await asyncio.sleep(_AGAIN_S)

    async def list_all(self, kind: str) -> str:
        """Take the objects of one kind as they are; returns the version of the list."""
        found = await self._admin.ask_kind("GET", kind)
        version = str(found["metadata"]["resourceVersion"])
        uids = {each["metadata"]["uid"] for each in found["items"]}
        for each in found["items"]:
            self._take(Fact(kind, "listed", each))
        for missing in self.now.of(kind):
            if missing["metadata"]["uid"] not in uids:
                metadata = missing["metadata"] | {"resourceVersion": version}
                self._take(Fact(kind, "deleted", missing | {"metadata": metadata}))
        return version

    async def follow(self, kind: str, version: str) -> None:
        """Take in every change of one kind after *version*."""
        while True:
            try:
                async with aclosing(self._changes(kind, version)) as changes:
                    async for fact in changes:
                        version = str(fact.version)
                        if fact.change != "listed":
                            self._take(fact)
            except _MissedError:
                self.history.gaps += 1
                version = await self._list_again(kind)
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(_AGAIN_S)

    async def _list_again(self, kind: str) -> str:
        while True:
            try:
                return await self.list_all(kind)
            except (aiohttp.ClientError, OSError, RefusedError):
                await asyncio.sleep(_AGAIN_S)

    async def _changes(self, kind: str, version: str) -> AsyncGenerator[Fact, None]:
        """Yield the facts of one connection; a bookmark is one of no object."""
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        asked = self._admin.http.get(
            self._admin.url + kind, params=query, read_bufsize=_MAX_LINE_BYTES
        )
        async with asked as answer:
            if answer.status == _GONE:
                raise _MissedError
            answer.raise_for_status()
            try:
                async for line in answer.content:
                    event = json.loads(line)
                    found: Object = event["object"]
                    if event["type"] == "ERROR":
                        raise _MissedError
                    yield Fact(kind, _CHANGES.get(event["type"], "listed"), found)
            finally:
                abandon(answer)

    async def _versions(self, kind: str) -> dict[str, str]:
        return _versions(await self._admin.items(kind))

    def _take(self, fact: Fact) -> None:
        self.history.facts.append(fact)
        self.now.take(fact)
        self._changed.set()


def _versions(objects: list[Object]) -> dict[str, str]:
    return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in objects}


@asynccontextmanager
async def watching(admin: Admin) -> AsyncIterator[Observer]:
    """Observe for the length of a block; a watch that ends by a defect ends the block too."""
    observer = Observer(admin)
    versions = {kind: await observer.list_all(kind) for kind in KINDS}
    async with asyncio.TaskGroup() as tasks:
        follows = [
            tasks.create_task(observer.follow(kind, version)) for kind, version in versions.items()
        ]
        yield observer
        for each in follows:
            each.cancel()
