"""Owners on the server: objects of which a controller makes pods, or would make them."""

from typing import Final

from tests.manifest.translate.api_server import Key, KindKey, Object

JOB: Final = KindKey("batch", "Job")
DEPLOYMENT: Final = KindKey("apps", "Deployment")
REPLICA_SET: Final = KindKey("apps", "ReplicaSet")
STATEFUL_SET: Final = KindKey("apps", "StatefulSet")
OWNERS: Final = (JOB, DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
OWNER_NAMES: Final = ("o1", "o2")
STATUSES: Final[tuple[Object, ...]] = ({"active": 1, "replicas": 1}, {"succeeded": 1}, {})


def new_owner_object(of: KindKey, pod: Object, *, replicas: int, is_suspended: bool) -> Object:
    """Return an owner whose pods are like *pod*, called as that is."""
    metadata = pod["metadata"]
    labels = metadata["labels"]
    spec: Object = {"template": {"metadata": metadata, "spec": pod["spec"]}}
    if of == JOB:
        spec |= {"parallelism": replicas, "suspend": is_suspended}
    else:
        spec |= {"replicas": replicas, "selector": {"matchLabels": {"app": labels["app"]}}}
    names = {name: metadata[name] for name in ("namespace", "name")}
    return {
        "apiVersion": f"{of.group}/v1",
        "kind": of.kind,
        "metadata": {**names, "labels": dict(labels)},
        "spec": spec,
        "status": {},
    }


def reference_to(key: Key, uid: str) -> Object:
    """Return how what an owner controls refers to it."""
    named = {"apiVersion": f"{key.of.group}/v1", "kind": key.of.kind, "name": key.name}
    return {**named, "uid": uid, "controller": True}
