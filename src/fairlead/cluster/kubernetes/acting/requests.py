"""The requests that bind, evict and read a pod, with the conditions under which they are meant."""

from typing import Any, Final

import msgspec

from fairlead.cluster.kubernetes.acting.acts import Bind, Evict, PodName
from fairlead.cluster.kubernetes.client.errors import NotFoundError
from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.manifest.text.values import Mapping

TERM: Final = "fairlead/term"
"""The annotation of bindings and evictions that says which leader sent them, in which term."""

PODS: Final = Resource(group="", version="v1", plural="pods")
_encode = msgspec.json.encode


async def bind(session: Session, act: Bind, term: str) -> None:
    """Bind a pod. Raises ApiError; a conflict says that the pod is bound, or another one."""
    metadata = _metadata(act.target, term)
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {**metadata, "uid": act.target.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": act.node},
    }
    path = PODS.path(act.target.name, act.target.namespace, "binding")
    await session.ask("POST", path, body=_encode(body))


async def evict(session: Session, act: Evict, term: str) -> None:
    """Evict a pod as its own grace period and disruption budgets have it. Raises ApiError."""
    conditions = {"uid": act.target.uid, "resourceVersion": act.resource_version}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": _metadata(act.target, term),
        "deleteOptions": {"preconditions": {k: v for k, v in conditions.items() if v}},
    }
    path = PODS.path(act.target.name, act.target.namespace, "eviction")
    await session.ask("POST", path, body=_encode(body))


async def read_pod(session: Session, target: PodName) -> Mapping | None:
    """Return a pod as it is; None: it is gone, and another one may have its name."""
    path = PODS.path(target.name, target.namespace)
    try:
        found = read_object(await session.ask("GET", path), f"GET {path}")
    except NotFoundError:
        return None
    metadata: Any = found.get("metadata")
    is_same = isinstance(metadata, dict) and metadata.get("uid") == target.uid
    return found if is_same else None


def _metadata(target: PodName, term: str) -> dict[str, Any]:
    named: dict[str, Any] = {"name": target.name, "namespace": target.namespace}
    return {**named, "annotations": {TERM: term}} if term else named
