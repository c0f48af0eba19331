"""Pods of a test: how they are written, created, bound by hand, and observed."""

from typing import Any

from tests.live.api import Api, Object
from tests.live.waiting import wait_until


def pods_path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of the pods of a namespace, of one pod, or of a subresource of it."""
    parts = (f"/api/v1/namespaces/{namespace}/pods", name, subresource)
    return "/".join(each for each in parts if each)


def pod_spec(
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    gpus: int = 0,
    scheduler: str = "fairlead",
    grace_s: int = 0,
    **spec: Any,
) -> Object:
    """Return the spec of a pod with one container; *spec* has further fields, as in YAML.

    An amount of "" is not asked for.
    """
    requests = {name: each for name, each in (("cpu", cpu), ("memory", memory)) if each}
    resources: Object = {"requests": requests}
    if gpus:
        resources = {
            "requests": {**requests, "nvidia.com/gpu": str(gpus)},
            "limits": {"nvidia.com/gpu": str(gpus)},
        }
    return {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": grace_s,
        "containers": [
            {"name": "main", "image": "registry.example/main:1", "resources": resources}
        ],
        **spec,
    }


def create_pod(
    api: Api,
    namespace: str,
    name: str,
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    finalizers: list[str] | None = None,
    **spec: Any,
) -> Object:
    """Create a pod whose spec is `pod_spec(**spec)`."""
    metadata = {
        "name": name,
        "labels": labels or {},
        "annotations": annotations or {},
        "finalizers": finalizers or [],
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**spec)}
    return api.create(pods_path(namespace), body)


def bind_pod(api: Api, namespace: str, name: str, node: str) -> None:
    """Bind a pod, as another scheduler does."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    api.create(pods_path(namespace, name, "binding"), body)


def node_of(pod: Object) -> str:
    """Return the node that a pod is bound to; "": none."""
    node: str = pod["spec"].get("nodeName", "")
    return node


def is_leaving(pod: Object) -> bool:
    """Return whether a pod was deleted or evicted and is still there."""
    return pod["metadata"].get("deletionTimestamp") is not None


def nodes_by_pod(api: Api, namespace: str) -> dict[str, str]:
    """Return the node of each pod of a namespace; "": it is not bound."""
    return {each["metadata"]["name"]: node_of(each) for each in api.items(pods_path(namespace))}


def wait_until_bound(
    api: Api, namespace: str, *names: str, within_s: float = 15.0
) -> dict[str, str]:
    """Return the node of each of the named pods, once all are bound; without names, of all."""

    def look() -> dict[str, str]:
        found = nodes_by_pod(api, namespace)
        return {name: found.get(name, "") for name in names} if names else found

    return wait_until(
        f"pods of {namespace} are bound: {', '.join(names) or 'all'}",
        look,
        lambda found: bool(found) and all(found.values()),
        within_s=within_s,
    )


def wait_until_running(api: Api, namespace: str, name: str, *, within_s: float = 15.0) -> Object:
    """Return a pod once kwok, as its kubelet, reports that it runs."""
    return wait_until(
        f"the pod {namespace}/{name} runs",
        lambda: api.get(pods_path(namespace, name)),
        lambda pod: pod["status"].get("phase") == "Running",
        within_s=within_s,
    )


def wait_until_gone(api: Api, namespace: str, name: str, *, within_s: float = 15.0) -> None:
    """Return once there is no pod of that name."""
    wait_until(
        f"the pod {namespace}/{name} is gone",
        lambda: api.find(pods_path(namespace, name)),
        lambda pod: pod is None,
        within_s=within_s,
    )
