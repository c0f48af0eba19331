"""Every change of one kind since a version, across connections that end or break.

A watch goes on by itself after each interruption, from the last version it has seen, and says so:
while it is interrupted the reader must not act on what it knows. It ends with an error only where
going on is not possible: GoneError asks for a new list.
"""

import asyncio
import math
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

import msgspec

from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.errors import (
    AT_ONCE_S,
    SilentError,
    Status,
    UnreadableAnswerError,
    shown,
    status_error,
)
from fairlead.cluster.kubernetes.client.objects import reader
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Query, Session
from fairlead.errors import ClusterError
from fairlead.manifest.text.values import Mapping

# Bookmarks come about once a minute, except for a kind of which an API server that was started has
# not seen a change yet. So a connection that is silent for longer may be dead, or in order.
IDLE_S: Final = 90.0
_LASTING_S: Final = 30.0  # a connection that held for so long was a success, with events or without
_TURN_S: Final = 300  # the server ends a watch after one to two of these, so that load spreads


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """An object was added, modified or deleted; this is how it is, or was at its end."""

    change: Literal["added", "modified", "deleted"]
    object: Mapping
    resource_version: str


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """There was no other change up to this version."""

    resource_version: str


class Connected(msgspec.Struct, frozen=True):
    """The watch runs, for the first time or again."""


class Interrupted(msgspec.Struct, frozen=True, kw_only=True):
    """The watch does not run; it is tried again after *pause_s*."""

    error: ClusterError | None  # None: the server has ended it in order, or was silent
    pause_s: float


WatchEvent: TypeAlias = Changed | Bookmark | Connected | Interrupted


async def watch(
    session: Session,
    resource: Resource,
    resource_version: str,
    *,
    namespace: str = "",
    query: Query = (),
    pauses: Backoff,
    idle_s: float = IDLE_S,
    lasting_s: float = _LASTING_S,
) -> AsyncGenerator[WatchEvent, None]:
    """Yield what has happened since *resource_version*, without an end.

    Law: each change is yielded once and in order, however often the connection breaks. Raises
    ClusterError where asking again will not help (its `retry_after_s` is None), such as GoneError.
    Close it with `contextlib.aclosing`, so that its connection is closed at once.
    """
    path = resource.collection(namespace)
    clock = asyncio.get_running_loop()
    while True:
        problem: ClusterError | None = None
        asked = (*query, *_asked(resource_version, pauses))
        lasting_from_s = math.inf
        try:
            async with session.stream(path, query=asked, idle_s=idle_s) as lines:
                lasting_from_s = clock.time() + lasting_s
                yield Connected()
                async for line in lines:
                    event = _read_event(line, lines.asked)
                    resource_version = event.resource_version
                    pauses.reset()
                    yield event
        except SilentError:
            pass  # if the server is gone, the next attempt says so
        except ClusterError as error:
            if error.retry_after_s is None:
                raise
            problem = error
        if clock.time() >= lasting_from_s:
            pauses.reset()
        pause_s = pauses.next_s(problem.retry_after_s or 0 if problem else 0)
        yield Interrupted(error=problem, pause_s=pause_s)
        await asyncio.sleep(pause_s)


def _asked(resource_version: str, pauses: Backoff) -> Query:
    return (
        ("watch", "1"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", str(round(_TURN_S * (1 + pauses.random())))),
    )


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: dict[str, Any]


_CHANGES: Final[dict[str, Literal["added", "modified", "deleted"]]] = {
    "ADDED": "added",
    "MODIFIED": "modified",
    "DELETED": "deleted",
}
_UNTOLD_STATUS: Final = HTTPStatus.INTERNAL_SERVER_ERROR
_read_line = reader(_Line)


def _read_event(line: bytes, asked: str) -> Changed | Bookmark:
    """Return the event of one line, or raise the error that it is."""
    read = _read_line(line, asked)
    if read.type == "ERROR":
        status = _status(read.object)
        code = status.code if status.code >= HTTPStatus.BAD_REQUEST else _UNTOLD_STATUS
        raise status_error(asked, code, status)
    version = _version(read.object)
    if not version:
        raise _unreadable(asked, "an event has no resourceVersion")
    if read.type == "BOOKMARK":
        return Bookmark(resource_version=version)
    if read.type not in _CHANGES:
        raise _unreadable(asked, f"an event is of the unknown type {shown(read.type)}")
    return Changed(change=_CHANGES[read.type], object=read.object, resource_version=version)


def _version(found: Mapping) -> str:
    metadata = found.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else ""


def _status(found: Mapping) -> Status:
    try:
        return msgspec.convert(found, Status)
    except msgspec.ValidationError:
        return Status()


def _unreadable(asked: str, found: str) -> UnreadableAnswerError:
    return UnreadableAnswerError(asked, found, retry_after_s=AT_ONCE_S)
