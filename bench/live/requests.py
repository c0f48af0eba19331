"""Creating, deleting and counting the objects of a measured cluster."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from bench.live.world import Creation
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.errors import NotFoundError, TooManyRequestsError
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session

AT_ONCE: Final = 32
_DEADLINE_S: Final = 60.0
_NEW_KIND_WITHIN_S: Final = 15.0
"""A kind that was just defined answers 404 or 429 for a few seconds."""


def access(kubeconfig: Path) -> Access:
    """Return access as a kubeconfig says, whatever the environment says."""
    found, _ = find_access(Wanted(kubeconfig=str(kubeconfig)), {})
    return found


@asynccontextmanager
async def opened_session(kubeconfig: Path, connections: int = AT_ONCE) -> AsyncIterator[Session]:
    """Give a session, closed at the end of the block."""
    session = Session(access(kubeconfig), connections=connections, deadline_s=_DEADLINE_S)
    try:
        yield session
    finally:
        await session.close()


async def create_all(session: Session, creations: Iterable[Creation]) -> None:
    """Create objects, 32 at a time, in about their order."""
    waiting = iter(creations)
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(_create_each(session, waiting))


async def _create_each(session: Session, waiting: Iterator[Creation]) -> None:
    for creation in waiting:
        await create(session, creation)


async def create(session: Session, creation: Creation) -> None:
    """Create one object."""
    await session.ask("POST", creation.path, body=creation.body)


async def paced(pods_per_s: float) -> AsyncIterator[int]:
    """Yield 0, 1, 2 ... at a steady pace, which one that comes late does not shift."""
    began_s = time.monotonic()
    for number in count():
        await asyncio.sleep(max(0, began_s + number / pods_per_s - time.monotonic()))
        yield number


async def create_of_new_kind(session: Session, creations: Iterable[Creation]) -> None:
    """Create objects of a kind that was defined a moment ago."""
    for creation in creations:
        async with asyncio.timeout(_NEW_KIND_WITHIN_S):
            while True:
                try:
                    await create(session, creation)
                    break
                except (NotFoundError, TooManyRequestsError):
                    await asyncio.sleep(0.2)


_NOW: Final = msgspec.json.encode({"gracePeriodSeconds": 0})


async def delete_now(session: Session, creation: Creation) -> None:
    """Delete a pod without waiting for a kubelet, since there is none."""
    name = creation.key.rpartition("/")[2]
    await session.ask("DELETE", f"{creation.path}/{name}", body=_NOW)


class _ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str
    remaining_item_count: int = 0


class _List(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw]


_read_list: Final = msgspec.json.Decoder(_List)


async def version_of(session: Session, resource: Resource) -> str:
    """Return from which version a watch shows what happens from now on."""
    return (await _shortest_list(session, resource)).metadata.resource_version


async def count_of(session: Session, resource: Resource) -> int:
    """Return how many objects of a kind there are."""
    found = await _shortest_list(session, resource)
    return len(found.items) + found.metadata.remaining_item_count


async def _shortest_list(session: Session, resource: Resource) -> _List:
    path = resource.collection()
    return _read_list.decode(await session.ask("GET", path, query=(("limit", "1"),)))
