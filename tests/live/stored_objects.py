"""Puts the objects of an example into an API server, as their controllers would have left them."""

from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.live.api import Api, Object

_NAMESPACES = "/api/v1/namespaces"

_COLLECTIONS = {
    ("v1", "Node"): "nodes",
    ("v1", "Pod"): "pods",
    ("scheduling.k8s.io/v1", "PriorityClass"): "priorityclasses",
    ("scheduling.x-k8s.io/v1alpha1", "ElasticQuota"): "elasticquotas",
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"): "podgroups",
    ("scheduling.run.ai/v2", "Queue"): "queues",
    ("scheduling.run.ai/v2alpha2", "PodGroup"): "podgroups",
    ("kai.scheduler/v1", "SchedulingShard"): "schedulingshards",
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): "clusterqueues",
    ("kueue.x-k8s.io/v1beta2", "Cohort"): "cohorts",
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): "localqueues",
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): "resourceflavors",
    ("kueue.x-k8s.io/v1beta2", "Workload"): "workloads",
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"): "workloadpriorityclasses",
}


def objects_in(files: Iterable[Path]) -> list[Object]:
    """Return the objects of YAML files: namespaces, those without an age, the others by age."""
    found = [each for file in files for each in yaml.safe_load_all(file.read_text()) if each]
    return sorted(found, key=_place_in_time)


def _place_in_time(each: Object) -> tuple[bool, str]:
    return each["kind"] != "Namespace", str(each["metadata"].get("creationTimestamp", ""))


def store_objects(api: Api, objects: Iterable[Object]) -> None:
    """Create objects with their status, and the namespaces that they are in."""
    for each in objects:
        if each["kind"] == "Namespace":
            _create_namespace(api, each)
            continue
        if namespace := each["metadata"].get("namespace"):
            _create_namespace(api, {"metadata": {"name": namespace}})
        path = collection_of(each)
        api.create(path, _acceptable(each))
        if each["kind"] == "Pod" and "status" in each:
            name = each["metadata"]["name"]
            api.patch(f"{path}/{name}/status", {"status": each["status"]})


def _create_namespace(api: Api, each: Object) -> None:
    """Create a namespace that is not there yet."""
    if api.find(f"{_NAMESPACES}/{each['metadata']['name']}") is None:
        api.create(_NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", **each})


def delete_objects(api: Api, objects: Iterable[Object]) -> None:
    """Delete the objects that are still there; their namespaces stay."""
    for each in objects:
        if each["kind"] != "Namespace":
            path = f"{collection_of(each)}/{each['metadata']['name']}"
            if api.find(path) is not None:
                api.delete(path, grace_period_s=0)


def collection_of(each: Object) -> str:
    """Return the path of the collection that an object is in."""
    version = each["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = each["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{within}/{_COLLECTIONS[version, each['kind']]}"


def _acceptable(each: Object) -> Object:
    """Return a pod with limits for what cannot be overcommitted, which an API server demands."""
    if each["kind"] != "Pod":
        return each
    containers = []
    for container in each["spec"]["containers"]:
        resources = container.get("resources", {})
        requests = resources.get("requests", {})
        limits = {name: amount for name, amount in requests.items() if "/" in name}
        resources = {**resources, "limits": {**limits, **resources.get("limits", {})}}
        containers.append({"image": "example.com/main:1", **container, "resources": resources})
    return {**each, "spec": {**each["spec"], "containers": containers}}
