"""Which kinds of object an API server has, and in which version we read them."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from fairlead.cluster.kubernetes.client.errors import NotFoundError
from fairlead.cluster.kubernetes.client.objects import reader
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session

GroupKind: TypeAlias = tuple[str, str]  # ("", "Pod"), ("apps", "Deployment")


class _Version(msgspec.Struct, frozen=True):
    version: str


class _Group(msgspec.Struct, frozen=True):
    name: str
    versions: list[_Version]


class _Groups(msgspec.Struct, frozen=True):
    groups: list[_Group] | None = None


class _CoreVersions(msgspec.Struct, frozen=True):
    versions: list[str]


class _ServedResource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool
    verbs: list[str] = []


class _Served(msgspec.Struct, frozen=True):
    resources: list[_ServedResource] | None = None


_read_groups = reader(_Groups)
_read_core = reader(_CoreVersions)
_read_served = reader(_Served)


async def find_resources(
    session: Session, wanted: Mapping[GroupKind, Iterable[str]]
) -> dict[GroupKind, Resource]:
    """Return where the *wanted* kinds are served, each in the first of its versions that is.

    *wanted* has the versions of a kind that we can read, the best first. A kind without any of
    them, or that cannot be listed, is left out. Only the groups that are wanted are asked, so an
    extension server that is down, of a group that we do not use, does no harm. Raises ApiError.
    """
    served = await _versions(session)
    known: dict[tuple[str, str], dict[str, Resource]] = {}
    found: dict[GroupKind, Resource] = {}
    for (group, kind), versions in wanted.items():
        for version in versions:
            if version not in served.get(group, ()):
                continue
            if (group, version) not in known:
                known[group, version] = await _kinds(session, group, version)
            if kind in known[group, version]:
                found[group, kind] = known[group, version][kind]
                break
    return found


async def _versions(session: Session) -> dict[str, list[str]]:
    core = _read_core(await session.ask("GET", "/api"), "GET /api").versions
    groups = _read_groups(await session.ask("GET", "/apis"), "GET /apis").groups or ()
    return {"": core} | {each.name: [v.version for v in each.versions] for each in groups}


async def _kinds(session: Session, group: str, version: str) -> dict[str, Resource]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        body = await session.ask("GET", path)
    except NotFoundError:  # its last CRD was deleted meanwhile
        return {}
    return {
        each.kind: Resource(
            group=group, version=version, plural=each.name, is_namespaced=each.namespaced
        )
        for each in _read_served(body, f"GET {path}").resources or ()
        if "list" in each.verbs and "/" not in each.name
    }
