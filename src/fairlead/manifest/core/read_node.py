"""Reads a core ``Node`` as far as scheduling needs it."""

from typing import Final

from fairlead.manifest.core.objects import NodeObject
from fairlead.manifest.core.read_containers import refuse_part
from fairlead.manifest.core.read_metadata import Metadata, read_metadata
from fairlead.manifest.core.read_pod_spec import PODS
from fairlead.manifest.core.read_selector import read_taints
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import quote

GPU_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
ANY_NUMBER_OF_PODS: Final = MAX_COUNT  # for a node that does not say how many it takes

_MAX_DIGITS: Final = 18
_IGNORED_SPEC: Final = ("configSource", "externalID", "podCIDR", "podCIDRs", "providerID")
_IGNORED_STATUS: Final = (
    "addresses",
    "config",
    "daemonEndpoints",
    "declaredFeatures",
    "features",
    "images",
    "nodeInfo",
    "phase",
    "runtimeHandlers",
    "volumesAttached",
    "volumesInUse",
)
_IGNORED_CONDITION: Final = ("lastHeartbeatTime", "lastTransitionTime", "message", "reason")


def read_node(top: Cursor) -> NodeObject | None:
    """Read a node; None if it has no usable name. One that says nothing of itself is ready."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec, status = top.mapping("spec"), top.mapping("status")
    spec.ignore(*_IGNORED_SPEC)
    status.ignore(*_IGNORED_STATUS)
    capacity = status.quantities("capacity", refuse_part)
    allocatable = status.quantities("allocatable", refuse_part)
    if not (status.has("capacity") or status.has("allocatable")):
        message = "found neither allocatable nor capacity; the node offers nothing"
        top.warn(("status", "allocatable"), "missing-field", message, "add allocatable")
    taints = read_taints(spec, "taints")
    is_cordoned = bool(spec.boolean("unschedulable", False))
    is_ready = _is_ready(status)
    gpu_memory_mib = _gpu_memory_mib(top, metadata)
    top.finish()
    if not metadata.name:
        return None
    offered = allocatable if status.has("allocatable") else capacity
    return NodeObject(
        source=top.source,
        name=metadata.name,
        allocatable={PODS: ANY_NUMBER_OF_PODS, **offered} if offered else {},
        labels=metadata.labels,
        taints=taints,
        ready=is_ready,
        cordoned=is_cordoned,
        gpu_memory_mib=gpu_memory_mib,
    )


def _is_ready(status: Cursor) -> bool:
    is_ready = True
    for condition in status.items("conditions"):
        condition.ignore(*_IGNORED_CONDITION)
        kind, value = condition.text("type"), condition.text("status")
        if kind == "Ready":
            is_ready = value == "True"
    return is_ready


def _gpu_memory_mib(top: Cursor, metadata: Metadata) -> int | None:
    text = metadata.labels.get(GPU_MEMORY_LABEL)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    message = f"found {quote(text)}, expected whole mebibytes of one device; it is left unknown"
    place = ("metadata", "labels", GPU_MEMORY_LABEL)
    top.warn(place, "bad-quantity", message, 'write a number such as "81559"')
    return None
