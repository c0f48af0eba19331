"""Reads a core ``Pod`` as far as scheduling needs it."""

from typing import Final

from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.pod_shapes import PodShapes
from fairlead.manifest.core.read_gpu_share import read_gpu_share
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.text.cursor import Cursor

_SHAPES: Final = PodShapes()
_PHASES: Final = {
    phase: phase for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
}
_IGNORED_STATUS: Final = (
    "allocatedResources",
    "conditions",  # but for when a pod was scheduled
    "containerStatuses",
    "ephemeralContainerStatuses",
    "extendedResourceClaimStatus",
    "hostIP",
    "hostIPs",
    "initContainerStatuses",
    "message",
    "observedGeneration",
    "podIP",
    "podIPs",
    "qosClass",
    "reason",
    "resize",
    "resourceClaimStatuses",
    "resources",
)


def read_pod(top: Cursor, shapes: PodShapes = _SHAPES) -> PodObject | None:
    """Read a pod; None if it has no usable name. Of alike specs *shapes* read one."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec, node = shapes.read(top, namespace=metadata.namespace, labels=metadata.labels)
    status = top.mapping("status")
    status.ignore(*_IGNORED_STATUS)
    phase = status.choice("phase", _PHASES, "Pending")
    nominated_node = status.text("nominatedNodeName", "") or None
    started_ms = status.timestamp("startTime", None)
    scheduled_ms = _scheduled_ms(status) if node and started_ms is None else None
    if phase == "Running" and node is None:
        message = "found a running pod without a node; it counts as waiting"
        top.warn(("spec", "nodeName"), "contradiction", message, "add nodeName")
    gpu_share = read_gpu_share(top, metadata)
    top.finish()
    if not metadata.name:
        return None
    return PodObject(
        source=top.source,
        identity=metadata.identity,
        namespace=metadata.namespace,
        name=metadata.name,
        labels=metadata.labels,
        annotations=metadata.annotations,
        scheduler=spec.scheduler,
        requests=spec.requests,
        plugin_requests=spec.plugin_requests,
        constraints=spec.constraints,
        gpu_share=gpu_share,
        node=node,
        nominated_node=nominated_node,
        phase=phase,
        terminating=metadata.is_leaving,
        gated=bool(spec.scheduling_gates),
        priority=spec.priority,
        priority_class=spec.priority_class,
        preemption_policy=spec.preemption_policy,
        created_ms=metadata.created_ms,
        scheduled_ms=scheduled_ms,
        started_ms=started_ms,
    )


def _scheduled_ms(status: Cursor) -> int | None:
    """Return since when the pod has its node, as its condition PodScheduled says."""
    since_ms: int | None = None
    for condition in status.items("conditions"):
        condition.ignore(*condition.keys())  # later versions of the API may add fields
        kind, value = condition.text("type", ""), condition.text("status", "")
        if kind == "PodScheduled" and value == "True":
            since_ms = condition.timestamp("lastTransitionTime", None)
    return since_ms
