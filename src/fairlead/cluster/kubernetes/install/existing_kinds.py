"""Which definitions of kinds a cluster has already, so that an installation leaves them alone."""

from collections.abc import Iterable
from typing import Final

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.errors import NotFoundError
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session

_CRDS: Final = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    is_namespaced=False,
)
_DEADLINE_S: Final = 10.0


async def existing_kinds(access: Access, names: Iterable[str]) -> frozenset[str]:
    """Return those of the CRDs called *names* that the cluster has. Raises ApiError."""
    session = Session(access, connections=1, deadline_s=_DEADLINE_S)
    try:
        return frozenset([name for name in names if await _has(session, name)])
    finally:
        await session.close()


async def _has(session: Session, name: str) -> bool:
    try:
        await session.ask("GET", _CRDS.path(name))
    except NotFoundError:
        return False
    return True
