"""Every object of one kind, asked for in pages."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.cluster.kubernetes.client.errors import (
    GoneError,
    TooLongAnswerError,
    UnreadableAnswerError,
)
from fairlead.cluster.kubernetes.client.objects import reader
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Query, Session
from fairlead.manifest.text.values import Mapping

PAGE_SIZE: Final = 500


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All objects at one moment, and the version from which a watch goes on."""

    objects: list[Mapping]
    resource_version: str


class _PageMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _PageMetadata
    kind: str = ""
    api_version: str = ""
    items: list[dict[str, Any]] | None = None


_read_page = reader(_Page)


async def list_objects(
    session: Session,
    resource: Resource,
    *,
    namespace: str = "",
    query: Query = (),
    page_size: int = PAGE_SIZE,
    note: Callable[[int], None] | None = None,
) -> Listing:
    """Return all objects of a kind, or those in one namespace, as of one moment.

    The rest of a list is only known to the server for some minutes: if it has expired, the list is
    made anew, once. A page that is too long is asked for again with half as many objects. Raises
    ApiError; nothing is returned of a list that is not whole. Each object has its kind, which
    the items of a list leave out. The number of objects in each page goes to *note*.
    """
    restarts = 1
    while True:
        try:
            return await _all_pages(session, resource.collection(namespace), query, page_size, note)
        except TooLongAnswerError:
            if page_size == 1:
                raise
            page_size //= 2
        except GoneError:
            if not restarts:
                raise
            restarts -= 1


async def _all_pages(
    session: Session,
    path: str,
    query: Query,
    page_size: int,
    note: Callable[[int], None] | None,
) -> Listing:
    objects: list[Mapping] = []
    mark = ""
    while True:
        page = await _page(session, path, query, page_size, mark)
        objects += _with_kind(page)
        if note is not None:
            note(len(page.items or ()))
        if not page.metadata.continue_:
            return Listing(objects=objects, resource_version=page.metadata.resource_version)
        if page.metadata.continue_ == mark:
            raise UnreadableAnswerError(f"GET {path}", "two pages of the list end at one place")
        mark = page.metadata.continue_


async def _page(session: Session, path: str, query: Query, page_size: int, mark: str) -> _Page:
    asked = (*query, ("limit", str(page_size)), *((("continue", mark),) if mark else ()))
    page = _read_page(await session.ask("GET", path, query=asked), f"GET {path}")
    if not page.metadata.resource_version:
        raise UnreadableAnswerError(f"GET {path}", "the list has no resourceVersion")
    return page


def _with_kind(page: _Page) -> list[Mapping]:
    kind = page.kind.removesuffix("List")
    named: Mapping = {"apiVersion": page.api_version, "kind": kind}
    return [named | _without_managed_fields(item) for item in page.items or ()]


def _without_managed_fields(item: dict[str, Any]) -> dict[str, Any]:
    """Leave out which client wrote which field: no reader asks, and it is 2/5 of a pod."""
    metadata = item.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return item
