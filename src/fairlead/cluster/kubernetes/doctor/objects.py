"""Reads single objects and lists for checks, which look at a few fields of each."""

from typing import Any, Final

import msgspec

from fairlead.cluster.kubernetes.client.errors import NotFoundError
from fairlead.cluster.kubernetes.client.lists import list_objects
from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.manifest.text.values import Mapping

DEPLOYMENTS: Final = Resource(group="apps", version="v1", plural="deployments")
ENDPOINT_SLICES: Final = Resource(group="discovery.k8s.io", version="v1", plural="endpointslices")
LEASES: Final = Resource(group="coordination.k8s.io", version="v1", plural="leases")
PODS: Final = Resource(group="", version="v1", plural="pods")
SERVICE_ACCOUNTS: Final = Resource(group="", version="v1", plural="serviceaccounts")
FENCES: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingadmissionpolicybindings",
    is_namespaced=False,
)
WEBHOOKS: Final = tuple(
    Resource(group="admissionregistration.k8s.io", version="v1", plural=plural, is_namespaced=False)
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
)


async def find(session: Session, resource: Resource, name: str, namespace: str = "") -> Any:
    """Return an object; None: there is none. Raises ApiError."""
    path = resource.path(name, namespace)
    try:
        return read_object(await session.ask("GET", path), f"GET {path}")
    except NotFoundError:
        return None


async def find_all(session: Session, resource: Resource, namespace: str = "") -> list[Any]:
    """Return all objects of a kind, or those in one namespace. Raises ApiError."""
    return list((await list_objects(session, resource, namespace=namespace)).objects)


async def create(session: Session, path: str, body: Mapping) -> Any:
    """Post what the server answers and does not keep, such as a review. Raises ApiError."""
    return read_object(await session.ask("POST", path, body=msgspec.json.encode(body)), path)
