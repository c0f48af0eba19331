"""All objects of a cluster that matter to us, each kind as of one moment.

Kinds are listed one beside the other, so they are of moments that differ by as much as the reading
takes. For a command that shows numbers this is enough; nothing is decided for good.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from random import random
from typing import Final, TypeVar

import msgspec

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.discovery import GroupKind, find_resources
from fairlead.cluster.kubernetes.client.errors import (
    NotFoundError,
    RefusedError,
    ServerFaultError,
    TooManyRequestsError,
)
from fairlead.cluster.kubernetes.client.lists import Listing, list_objects
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.errors import ClusterError

AT_ONCE: Final = 8  # kinds that are listed at one time
_DEADLINE_S: Final = 20.0  # of one page
_MOST_ATTEMPTS: Final = 5  # where the server says that it cannot answer now

_T = TypeVar("_T")


class KindObjects(msgspec.Struct, frozen=True, kw_only=True):
    """All objects of one kind, and where it is served."""

    resource: Resource
    listing: Listing


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that the user may not list."""

    resource: Resource
    error: RefusedError


class ClusterObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster has of the kinds that were asked for. Kinds that it does not serve are absent.

    ``refused`` are those that it serves and the user may not list.
    """

    kinds: Mapping[GroupKind, KindObjects]
    refused: Mapping[GroupKind, Refusal]

    def count(self) -> int:
        """Return how many objects there are."""
        return sum(len(each.listing.objects) for each in self.kinds.values())


class Progress(msgspec.Struct, kw_only=True):
    """How far a reading is."""

    of_kinds: int
    kinds: int = 0  # that were listed by now
    objects: int = 0  # that were read, of these and of others


async def read_cluster(
    access: Access,
    wanted: Mapping[GroupKind, Iterable[str]],
    *,
    budget_s: float | None = None,
    note: Callable[[Progress], None] | None = None,
) -> ClusterObjects:
    """Return the objects of all *wanted* kinds; see `find_resources` for what is wanted.

    A user without the right to list anything gets an error, as does every other fault of the
    server. The user may be asked to log in, for which there is no limit of time; the rest takes at
    most *budget_s*. How far it is goes to *note*. Raises ClusterError.
    """
    await access.credentials.token()
    session = Session(access, connections=AT_ONCE, deadline_s=_DEADLINE_S)
    try:
        async with asyncio.timeout(budget_s):
            resources = await find_resources(session, wanted)
            return await _list_all(session, resources, note)
    except TimeoutError:
        message = f"the cluster was not read within {budget_s:g} s; see whether its API server is"
        raise ClusterError(f"{message} overloaded, or read fewer kinds with --policy") from None
    finally:
        await session.close()


async def _list_all(
    session: Session,
    resources: Mapping[GroupKind, Resource],
    note: Callable[[Progress], None] | None,
) -> ClusterObjects:
    kinds: dict[GroupKind, KindObjects] = {}
    refused: dict[GroupKind, Refusal] = {}
    turn = asyncio.Semaphore(AT_ONCE)  # a request that waits for a connection may be late
    progress = Progress(of_kinds=len(resources))

    def note_page(objects: int) -> None:
        progress.objects += objects
        if note is not None:
            note(progress)

    async def read(kind: GroupKind, resource: Resource) -> None:
        try:
            async with turn:
                listing = await _list_one(session, resource, note_page)
            kinds[kind] = KindObjects(resource=resource, listing=listing)
        except RefusedError as error:
            refused[kind] = Refusal(resource=resource, error=error)
        except NotFoundError:
            pass  # its CRD was deleted meanwhile
        progress.kinds += 1

    try:
        async with asyncio.TaskGroup() as group:
            for kind, resource in resources.items():
                group.create_task(read(kind, resource))
    except ExceptionGroup as several:
        raise several.exceptions[0] from None  # the first fault ends the others
    if refused and not kinds:
        raise _nothing_allowed(refused)
    return ClusterObjects(kinds=_in_order(kinds, resources), refused=_in_order(refused, resources))


def _nothing_allowed(refused: Mapping[GroupKind, Refusal]) -> ClusterError:
    first = next(iter(refused.values())).error
    return ClusterError(
        f"the user may list none of the {len(refused)} kinds that are read; grant list on "
        f"them with a ClusterRole, or use another context; the first answer was: {first}"
    )


def _in_order(found: Mapping[GroupKind, _T], order: Iterable[GroupKind]) -> dict[GroupKind, _T]:
    return {kind: found[kind] for kind in order if kind in found}


async def _list_one(
    session: Session, resource: Resource, note_page: Callable[[int], None]
) -> Listing:
    """Return all objects of one kind. A server that asks to be asked again is, for some time."""
    pauses = Backoff(random)
    for _ in range(_MOST_ATTEMPTS - 1):
        try:
            return await list_objects(session, resource, note=note_page)
        except (TooManyRequestsError, ServerFaultError) as error:
            await asyncio.sleep(pauses.next_s(error.retry_after_s or 0))
    return await list_objects(session, resource, note=note_page)
