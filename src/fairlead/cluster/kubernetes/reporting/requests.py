"""The requests that write a report. Each may be repeated: the result is the same."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from fairlead.cluster.kubernetes.acting.requests import PODS, read_pod
from fairlead.cluster.kubernetes.client.errors import ConflictError, NotFoundError
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.reporting.reports import ObjectStatus, PodEvent, PodStatus
from fairlead.manifest.text.values import Mapping

COMPONENT: Final = "fairlead"
"""By which Events and fields of a status are known as ours."""

EVENTS: Final = Resource(group="", version="v1", plural="events")
_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_MOST_CONFLICTS: Final = 3
_encode = msgspec.json.encode


async def write_pod_status(session: Session, report: PodStatus) -> None:
    """Let our part of the status of a pod be as *report* says, if the pod still has no node.

    Raises ApiError. The version of the pod is a condition: a report that is under way while the pod
    is bound must not say afterwards that it waits.
    """
    version = report.resource_version
    for attempt in range(_MOST_CONFLICTS):
        try:
            await _apply_pod_status(session, report, version)
        except NotFoundError:
            return
        except ConflictError:
            found = await read_pod(session, report.pod)
            if found is None or not _waits(found):
                return
            if attempt == _MOST_CONFLICTS - 1:
                raise
            version = str(_part(found, "metadata").get("resourceVersion", ""))
        else:
            return


async def _apply_pod_status(session: Session, report: PodStatus, version: str) -> None:
    status: dict[str, Any] = {}
    if report.message:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": report.message,
            "lastTransitionTime": report.since,
        }
        status["conditions"] = [condition]
    if report.nominated_node:
        status["nominatedNodeName"] = report.nominated_node
    metadata = {
        "name": report.pod.name,
        "namespace": report.pod.namespace,
        "uid": report.pod.uid,
        "resourceVersion": version,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}
    await session.ask(
        "PATCH",
        PODS.path(report.pod.name, report.pod.namespace, "status"),
        query=(("fieldManager", COMPONENT), ("force", "true")),
        body=_encode(body),
        content_type=_APPLY,
    )


async def write_event(session: Session, report: PodEvent) -> None:
    """Write an Event, or raise the count of one. Raises ApiError."""
    if report.count > 1 and await _count_again(session, report):
        return
    pod = report.pod
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": report.name, "namespace": pod.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "type": report.type,
        "reason": report.reason,
        "message": report.message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": time_text(report.first_ms),
        "lastTimestamp": time_text(report.at_ms),
        "count": report.count,
    }
    try:
        await session.ask("POST", EVENTS.collection(pod.namespace), body=_encode(body))
    except ConflictError:  # an attempt without an answer has succeeded
        return


async def _count_again(session: Session, report: PodEvent) -> bool:
    """Say that an Event happened once more; returns False if the API server has forgotten it."""
    changed = {
        "count": report.count,
        "lastTimestamp": time_text(report.at_ms),
        "message": report.message,
    }
    path = EVENTS.path(report.name, report.pod.namespace)
    try:
        await session.ask("PATCH", path, body=_encode(changed), content_type=_MERGE)
    except NotFoundError:
        return False
    return True


async def write_object_status(session: Session, report: ObjectStatus) -> None:
    """Let the status of an object be as *report* says. Raises ApiError.

    What the definition of its kind does not know is left out by the API server. (It would refuse a
    server-side apply with an unknown field, and a merge would keep resources that are not named any
    more.)
    """
    path = report.resource.path(report.name, report.namespace, "status")
    body = [{"op": "add", "path": "/status", "value": report.status}]
    try:
        await session.ask("PATCH", path, body=_encode(body), content_type=_JSON_PATCH)
    except NotFoundError:
        return


def time_text(at_ms: int) -> str:
    """Return a moment as the API server writes it, in whole seconds."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _waits(pod: Mapping) -> bool:
    is_leaving = _part(pod, "metadata").get("deletionTimestamp") is not None
    return not is_leaving and not _part(pod, "spec").get("nodeName")


def _part(pod: Mapping, key: str) -> dict[str, Any]:
    part = pod.get(key)
    return part if isinstance(part, dict) else {}
