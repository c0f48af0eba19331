"""Objects as an API server shows them: each version has its resourceVersion."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from fairlead.manifest.text.documents import Document, cluster_document

Value = dict[str, Any]

_versions = count(1)
CREATED = "2026-11-01T00:00:00Z"
STARTED = "2026-11-01T00:10:00Z"
GIB = 2**30


def manifest(api_version: str, kind: str, name: str, *, uid: str = "", **rest: Any) -> Value:
    """Return an object of a kind; ``metadata`` adds to its metadata."""
    metadata: Value = {
        "name": name,
        "uid": uid or f"{kind}-{rest.get('metadata', {}).get('namespace', '')}-{name}",
        "resourceVersion": str(next(_versions)),
        "creationTimestamp": CREATED,
        **rest.pop("metadata", {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def again(value: Value, **changes: Any) -> Value:
    """Return a later version of an object with some of its top fields changed."""
    metadata = {**value["metadata"], "resourceVersion": str(next(_versions))}
    return {**value, "metadata": {**metadata, **changes.pop("metadata", {})}, **changes}


def node(name: str, labels: Mapping[str, str] | None = None, **allocatable: str) -> Value:
    amounts = {key.replace("_", "/"): value for key, value in allocatable.items()}
    return manifest(
        "v1",
        "Node",
        name,
        metadata={"labels": dict(labels or {})},
        status={"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "20", **amounts}},
    )


def pod(
    name: str,
    *,
    on: str = "",
    group: str = "",
    cpu: object = "1",
    scheduler: str = "kai-scheduler",
    labels: Mapping[str, str] | None = None,
    uid: str = "",
    **spec: Any,
) -> Value:
    """Return a pod of the queue a in the namespace lab that asks for some cpu."""
    grouped = {"scheduling.x-k8s.io/pod-group": group} if group else {}
    value = manifest(
        "v1",
        "Pod",
        name,
        uid=uid,
        metadata={
            "namespace": "lab",
            "labels": {"kai.scheduler/queue": "a", **grouped, **(labels or {})},
            "annotations": {"pod-group-name": group} if group else {},
        },
        spec={
            "schedulerName": scheduler,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    )
    return placed(value, on) if on else value


def placed(value: Value, node_name: str) -> Value:
    """Return a pod that runs on a node."""
    spec = {**value["spec"], "nodeName": node_name}
    return again(value, spec=spec, status={"phase": "Running", "startTime": STARTED})


def kai_queue(name: str, parent: str = "", quota: int = 4) -> Value:
    free = {"quota": -1, "limit": -1}
    resources = {"cpu": {"quota": quota * 1000, "limit": -1}, "memory": free, "gpu": free}
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
    return manifest("scheduling.run.ai/v2", "Queue", name, spec=spec)


def kai_group(name: str, min_member: int = 2, queue: str = "a") -> Value:
    spec = {"minMember": min_member, "queue": queue}
    metadata = {"namespace": "lab"}
    return manifest("scheduling.run.ai/v2alpha2", "PodGroup", name, metadata=metadata, spec=spec)


def elastic_quota(name: str = "quota", *, namespace: str = "lab", **least: str) -> Value:
    return manifest(
        "scheduling.x-k8s.io/v1alpha1",
        "ElasticQuota",
        name,
        metadata={"namespace": namespace},
        spec={"min": {"cpu": "4", **{k.replace("_", "/"): v for k, v in least.items()}}},
    )


def elastic_group(name: str, min_member: int = 2) -> Value:
    return manifest(
        "scheduling.x-k8s.io/v1alpha1",
        "PodGroup",
        name,
        metadata={"namespace": "lab"},
        spec={"minMember": min_member},
    )


def cluster_queue(name: str = "a", flavor: str = "f", cohort: str = "", cpu: object = "4") -> Value:
    quota = {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    spec: Value = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    if cohort:
        spec["cohort"] = cohort
    return manifest("kueue.x-k8s.io/v1beta1", "ClusterQueue", name, spec=spec)


def local_queue(name: str = "local", to: str = "a") -> Value:
    return manifest(
        "kueue.x-k8s.io/v1beta1",
        "LocalQueue",
        name,
        metadata={"namespace": "lab"},
        spec={"clusterQueue": to},
    )


def workload(name: str, *, cpu: object = "1", queue: str = "local", count: int = 1) -> Value:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    return manifest(
        "kueue.x-k8s.io/v1beta1",
        "Workload",
        name,
        metadata={"namespace": "lab"},
        spec={"queueName": queue, "podSets": [pod_set]},
    )


def admitted(value: Value, by: str = "a", flavor: str = "f") -> Value:
    """Return a workload with quota for all of its pods."""
    (pod_set,) = value["spec"]["podSets"]
    granted = {"name": "main", "count": pod_set["count"], "flavors": {"cpu": flavor}}
    reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": STARTED}
    admission = {"clusterQueue": by, "podSetAssignments": [granted]}
    return again(value, status={"admission": admission, "conditions": [reserved]})


def document(value: Value) -> Document:
    return cluster_document(value)
