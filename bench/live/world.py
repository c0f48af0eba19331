"""The objects of a measured cluster, as requests that create them.

All pods are alike and ask for one GPU, all nodes are alike, and the namespaces share the pods
evenly. Each namespace has an ElasticQuota whose min is its part of the pods: rules are applied, and
nothing waits for quota. kube-scheduler gets the same objects and takes no notice of quotas.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fairlead.cluster.kubernetes.client.resource import Resource

GPU: Final = "nvidia.com/gpu"
GPUS_PER_NODE: Final = 16
NODES: Final = Resource(group="", version="v1", plural="nodes", is_namespaced=False)
NAMESPACES: Final = Resource(group="", version="v1", plural="namespaces", is_namespaced=False)
PODS: Final = Resource(group="", version="v1", plural="pods")
EVENTS: Final = Resource(group="", version="v1", plural="events")
QUOTAS: Final = Resource(group="scheduling.x-k8s.io", version="v1alpha1", plural="elasticquotas")

Manifest = dict[str, Any]


class Creation(msgspec.Struct, frozen=True):
    """A request that creates an object."""

    path: str
    body: bytes
    key: str  # namespace/name, or the name of what has no namespace


class World(msgspec.Struct, frozen=True, kw_only=True):
    """How large a measured cluster is."""

    nodes: int
    pods: int
    namespaces: int = 20

    def surroundings(self) -> Iterator[Creation]:
        """Yield all but the pods, what others need first."""
        for number in range(self.namespaces):
            yield _creation(NAMESPACES, "Namespace", _team(number))
        for number in range(self.nodes):
            yield _creation(NODES, "Node", f"node-{number:04}", status=_NODE_STATUS)

    def quotas(self) -> Iterator[Creation]:
        """Yield an ElasticQuota for each namespace."""
        share = -(-self.pods // self.namespaces)
        lowest = {"cpu": share, "memory": f"{share}Gi", GPU: share}
        for number in range(self.namespaces):
            yield _creation(QUOTAS, "ElasticQuota", "quota", _team(number), spec={"min": lowest})

    def pod(self, number: int, scheduler_name: str) -> Creation:
        """Return the pod of that number."""
        spec = _POD_SPEC | {"schedulerName": scheduler_name}
        team = _team(number % self.namespaces)
        return _creation(PODS, "Pod", f"pod-{number:06}", team, spec=spec)

    def backlog(self, scheduler_name: str) -> Iterator[Creation]:
        """Yield all pods."""
        return (self.pod(number, scheduler_name) for number in range(self.pods))


def _team(number: int) -> str:
    return f"team-{number:02}"


def _creation(
    resource: Resource, kind: str, name: str, namespace: str = "", **rest: Manifest
) -> Creation:
    api_version = f"{resource.group}/{resource.version}".lstrip("/")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    key = f"{namespace}/{name}".lstrip("/")
    return Creation(resource.collection(namespace), msgspec.json.encode(manifest), key)


_CAPACITY: Final = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(GPUS_PER_NODE)}
_NODE_STATUS: Final[Manifest] = {
    "capacity": _CAPACITY,
    "allocatable": _CAPACITY,
    "conditions": [{"type": "Ready", "status": "True", "reason": "Measured"}],
}
_REQUESTS: Final = {"cpu": "1", "memory": "1Gi", GPU: "1"}
_POD_SPEC: Final[Manifest] = {
    "containers": [
        {
            "name": "main",
            "image": "example.test/training:1",
            "resources": {"requests": _REQUESTS, "limits": _REQUESTS},
        }
    ],
}
