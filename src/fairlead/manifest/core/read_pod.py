"""Reads a core ``Pod`` as far as scheduling needs it."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec.structs import replace

from fairlead.manifest.core.device_claims import device_claims_of
from fairlead.manifest.core.objects import PodObject, Unschedulable
from fairlead.manifest.core.read_claim_spec import (
    CLAIM,
    EPHEMERAL,
    claim_names,
    is_plain_reference,
)
from fairlead.manifest.core.read_gpu_share import read_gpu_share
from fairlead.manifest.core.read_metadata import Metadata, read_metadata
from fairlead.manifest.core.read_pod_spec import (
    BINDING_VOLUMES,
    NODE_NAME,
    PASSED_OVER_OF_CONTAINERS,
    PASSED_OVER_OF_SPECS,
    PASSED_OVER_OF_VOLUMES,
    PODS,
    PodSpecRead,
    read_node_name,
    read_pod_spec,
)
from fairlead.manifest.core.resized_pod import resized_spec
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import field_names, words
from fairlead.manifest.text.read_once import ReadOnce, json_key
from fairlead.manifest.text.values import Mapping as ValueMapping
from fairlead.manifest.text.values import Value

# What the readers look at. A field that is missing here has no effect but that specs which have it
# are read each time.
_READ_OF_SPECS: Final = field_names(
    """
    affinity hostNetwork nodeSelector overhead preemptionPolicy priority priorityClassName
    resourceClaims resources schedulerName schedulingGates tolerations topologySpreadConstraints
    """
)
_READ_OF_CONTAINERS: Final = ("ports", "resources", "restartPolicy")
_KNOWN_OF_CONTAINERS: Final = PASSED_OVER_OF_CONTAINERS.union(_READ_OF_CONTAINERS)
_READ_OF_VOLUMES: Final = (*BINDING_VOLUMES, EPHEMERAL)
_KNOWN_OF_VOLUMES: Final = PASSED_OVER_OF_VOLUMES.union(_READ_OF_VOLUMES, {CLAIM})


class PodShapes:
    """The specs of pods that were read last."""

    def __init__(self, kept: ReadOnce[PodSpecRead] | None = None) -> None:
        """Begin with those that are *kept*; None: with none."""
        self._kept = ReadOnce[PodSpecRead]() if kept is None else kept

    def read(
        self, top: Cursor, *, namespace: str, labels: Mapping[str, str]
    ) -> tuple[PodSpecRead, str | None]:
        """Read the spec of the pod *top* with *labels* in *namespace*, and its node.

        Law: the same objects and the same findings as without any shape.
        """
        value, key = top.value.get("spec"), None
        if isinstance(value, dict):
            key, node = shape_key(value, namespace, labels), value.get(NODE_NAME)
            known = self._kept.get(key)
            if known is not None and (node is None or isinstance(node, str)):
                top.ignore("spec")
                return known, node or None
        spec = top.mapping("spec", required=True)
        found = read_pod_spec(spec, namespace=namespace, labels=labels)
        own_node = read_node_name(spec)
        if spec.is_clean():
            self._kept.keep(key, found)
        return found, own_node


def shape_key(spec: ValueMapping, namespace: str, labels: Mapping[str, str]) -> bytes | None:
    """Return what is equal for specs that are read alike; None: such a spec is read each time."""
    if not spec.keys() <= _KNOWN_OF_SPECS:
        return None
    parts: list[object] = [*map(spec.get, _READ_OF_SPECS)]
    try:
        parts += [key_of(spec.get(name)) for name, key_of in _LISTS]
    except _UnknownError:
        return None
    affinity, spreads = spec.get("affinity"), spec.get("topologySpreadConstraints")
    if isinstance(affinity, dict) and not affinity.keys().isdisjoint(_POD_AFFINITY):
        # Terms mean the pod's own namespace, and its labels where they only name some.
        is_of_labels = b"matchLabelKeys" in (json_key(affinity) or b"")
        parts += [namespace, labels if is_of_labels else None]
    if spreads and b"matchLabelKeys" in (json_key(spreads) or b""):
        parts.append(labels)
    return json_key(parts)


class _UnknownError(Exception):
    """An item of a list has a field that is not known, or is not as it is nearly always."""


def _containers_key(items: Value) -> object:
    if not isinstance(items, list):
        return items
    found: list[Value] = []
    for item in items:
        if not isinstance(item, dict) or not item.keys() <= _KNOWN_OF_CONTAINERS:
            raise _UnknownError
        found += map(item.get, _READ_OF_CONTAINERS)
    return found


def _volumes_key(items: Value) -> object:
    """Return which volumes bind their pod to nodes; most have none, whatever their names are.

    The name of a claim is no part of it: pods of one template have claims of their own.
    """
    if not isinstance(items, list):
        return items
    found: list[Value] = []
    for item in items:
        if not isinstance(item, dict) or not item.keys() <= _KNOWN_OF_VOLUMES:
            raise _UnknownError
        if item.keys() <= PASSED_OVER_OF_VOLUMES:
            continue
        if item.get(CLAIM) is not None and not is_plain_reference(item[CLAIM]):
            raise _UnknownError
        if not item.keys().isdisjoint(_READ_OF_VOLUMES):
            found += [item.get("name"), *map(item.get, _READ_OF_VOLUMES)]
    return found


_POD_AFFINITY: Final = frozenset({"podAffinity", "podAntiAffinity"})
_LISTS: Final[tuple[tuple[str, Callable[[Value], object]], ...]] = (
    ("containers", _containers_key),
    ("initContainers", _containers_key),
    ("volumes", _volumes_key),
)
_KNOWN_OF_SPECS: Final = PASSED_OVER_OF_SPECS.union(
    {NODE_NAME}, _READ_OF_SPECS, [name for name, _ in _LISTS]
)


SHAPES: Final = PodShapes()
"""The shapes that all pods and templates of a process share."""

_PHASES: Final = words(Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"])
# Of the conditions only PodScheduled is read.
_IGNORED_STATUS: Final = field_names(
    """
    allocatedResources conditions containerStatuses ephemeralContainerStatuses
    extendedResourceClaimStatus hostIP hostIPs initContainerStatuses message observedGeneration
    podIP podIPs qosClass reason resize resourceClaimStatuses resources
    """
)


def read_pod(top: Cursor, shapes: PodShapes = SHAPES) -> PodObject | None:
    """Read a pod; None if it has no usable name. Of alike specs *shapes* read one."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec, node = shapes.read(top, namespace=metadata.namespace, labels=metadata.labels)
    resized = resized_spec(top.value)
    if resized is not None:
        spec = _with_resized(spec, resized, top, metadata, shapes)
    status = top.mapping("status")
    status.ignore(*_IGNORED_STATUS)
    phase = status.choice("phase", _PHASES, "Pending")
    nominated_node = status.text("nominatedNodeName", "") or None
    started_ms = status.timestamp("startTime", None)
    scheduled_ms = _scheduled_ms(status) if node and started_ms is None else None
    if phase == "Running" and node is None:
        message = "found a running pod without a node; it counts as waiting"
        top.warn(("spec", "nodeName"), "contradiction", message, "add nodeName")
    gpu_share = read_gpu_share(top, metadata.annotations)
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
        unschedulable=None if node else _unschedulable(top.value.get("status")),
        phase=phase,
        terminating=metadata.is_leaving,
        gated=bool(spec.scheduling_gates),
        priority=spec.priority,
        priority_class=spec.priority_class,
        preemption_policy=spec.preemption_policy,
        created_ms=metadata.created_ms,
        scheduled_ms=scheduled_ms,
        started_ms=started_ms,
        claims=claims_of(top.value.get("spec")),
        ephemeral_volumes=spec.ephemeral_volumes,
        device_claims=device_claims_of(top.value.get("spec")),
    )


def _with_resized(
    spec: PodSpecRead, resized: ValueMapping, top: Cursor, metadata: Metadata, shapes: PodShapes
) -> PodSpecRead:
    """Return *spec* with the requests of the *resized* one; the plugin adds up what is written."""
    again = Cursor(top.source, Findings(), {"spec": resized})  # mistakes are reported already
    counted, _ = shapes.read(again, namespace=metadata.namespace, labels=metadata.labels)
    written = spec.plugin_requests
    if written is None:
        written = {name: amount for name, amount in spec.requests.items() if name != PODS}
    return replace(spec, requests=counted.requests, plugin_requests=written)


def claims_of(spec: Value) -> tuple[str, ...]:
    """Return the claims for volumes that a spec names."""
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    return claim_names(volumes) if volumes else ()


def _scheduled_ms(status: Cursor) -> int | None:
    """Return since when the pod has its node, as its condition PodScheduled says."""
    since_ms: int | None = None
    for condition in status.items("conditions"):
        condition.ignore(*condition.keys())  # later versions of the API may add fields
        kind, value = condition.text("type", ""), condition.text("status", "")
        if kind == "PodScheduled" and value == "True":
            since_ms = condition.timestamp("lastTransitionTime", None)
    return since_ms


def _unschedulable(status: Value) -> Unschedulable | None:
    """Return what the condition PodScheduled says of a pod that waits.

    It is read as it comes: no decision depends on it, and of ten thousand pods each may have one.
    """
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for each in conditions if isinstance(conditions, list) else ():
        if not isinstance(each, dict) or each.get("type") != "PodScheduled":
            continue
        if each.get("status") == "False" and each.get("reason") == "Unschedulable":
            message, since = each.get("message"), each.get("lastTransitionTime")
            return Unschedulable(
                message if isinstance(message, str) else "", since if isinstance(since, str) else ""
            )
    return None
