"""A recorded case of the capacity-scheduling plugin as Kubernetes objects, read as users' are."""

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from fairlead.manifest.load import load
from fairlead.model.axes import QueueName
from fairlead.model.events import QueueChanged
from fairlead.model.quantity import base_units, parse_quantity
from fairlead.model.state import ClusterState

Json = Mapping[str, Any]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NEVER_STARTED_S = 10**8  # who has no start time counts as started now, after all others
ELSEWHERE = "not-in-the-case"  # a node that nobody knows: its pods only count in their quota


def state_of(case: Json) -> ClusterState:
    """Return the state that *case* describes; everything in it goes through the readers."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects_of(case)})
    result = load(["-"], policy="elastic-quota", stdin=io.BytesIO(text.encode()))
    assert result.assembled is not None, result.findings
    state = result.assembled.state
    for quota in case["quotas"]:
        _let_max_be_below_min(state, quota)
    return state


def objects_of(case: Json) -> list[Json]:
    """Return nodes, quotas, pods and budgets as manifests."""
    incoming = [case["incoming"]] if "incoming" in case else []
    pods = [*case["pods"], *case.get("nominated", ()), *incoming]
    return [
        *map(_node, case["nodes"]),
        *map(_quota, case["quotas"]),
        *[_fixed(quota) for quota in case["quotas"] if "usedFixed" in quota],
        *map(_pod, pods),
        *[_pod(pod, age) for age, pod in enumerate(case.get("added", ()))],
        *map(_budget, case.get("pdbs", ())),
    ]


def moment(seconds: int) -> str:
    """Return a moment of a case as Kubernetes writes it."""
    return (BEGIN + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(node: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node["name"]},
        "status": {
            "allocatable": node["allocatable"],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _let_max_be_below_min(state: ClusterState, quota: Json) -> None:
    """Put in what the plugin accepts, and our readers refuse with good reason."""
    queue = state.queues[QueueName(quota["namespace"])]
    most = quota.get("max") or {}
    ceiling = tuple(
        _amount(axis.resource, most[axis.resource]) if axis.resource in most else bound
        for axis, bound in zip(state.axes.axes, queue.ceiling, strict=True)
    )
    if ceiling != queue.ceiling:
        state.apply(QueueChanged(msgspec.structs.replace(queue, ceiling=ceiling)))


def _amount(resource: str, text: str) -> int:
    return base_units(resource, parse_quantity(text))[0]


def _raised(most: Json, least: Json) -> Json:
    return {
        resource: max(amount, least.get(resource, amount), key=partial(_amount, resource))
        for resource, amount in most.items()
    }


def _quota(quota: Json) -> Json:
    written = {key: quota[key] for key in ("min", "max") if quota.get(key) is not None}
    if "max" in written:
        written["max"] = _raised(written["max"], quota.get("min") or {})
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": f"quota-{quota['namespace']}", "namespace": quota["namespace"]},
        "spec": written,
    }


def _fixed(quota: Json) -> Json:
    return _pod(
        {
            "name": "used-before",
            "namespace": quota["namespace"],
            "requests": quota["usedFixed"],
            "node": ELSEWHERE,
        }
    )


def _pod(pod: Json, added_s: int = 0) -> Json:
    metadata = {
        "name": pod["name"],
        "namespace": pod["namespace"] or "default",
        "labels": pod.get("labels", {}),
        "creationTimestamp": moment(pod.get("startTime", NEVER_STARTED_S + added_s)),
    }
    if pod.get("terminating"):
        metadata["deletionTimestamp"] = moment(NEVER_STARTED_S)
    spec: dict[str, Any] = {
        "priority": pod.get("priority", 0),
        "containers": _containers(pod.get("containers") or [{"requests": pod["requests"]}]),
        "initContainers": _containers(pod.get("initContainers", [])),
        "overhead": pod.get("overhead", {}),
    }
    status: dict[str, Any] = {"phase": "Pending"}
    if pod.get("node"):
        spec["nodeName"] = pod["node"]
        status["phase"] = "Running"
    if "startTime" in pod:
        status["startTime"] = moment(pod["startTime"])
    if pod.get("preemptionPolicy"):
        spec["preemptionPolicy"] = pod["preemptionPolicy"]
    if pod.get("nominatedNode"):
        status["nominatedNodeName"] = pod["nominatedNode"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _containers(containers: list[Json]) -> list[Json]:
    return [
        {
            "name": f"c{at}",
            "resources": {"requests": each.get("requests", {})},
            **({"restartPolicy": "Always"} if each.get("sidecar") else {}),
        }
        for at, each in enumerate(containers)
    ]


def _budget(budget: Json) -> Json:
    disrupted = budget.get("disruptedPods") or ()
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": budget["name"], "namespace": budget["namespace"]},
        "spec": {"selector": {"matchLabels": budget["selector"]}},
        "status": {
            "disruptionsAllowed": budget["disruptionsAllowed"],
            "disruptedPods": dict.fromkeys(disrupted, moment(0)),
        },
    }
