"""Reads Kueue's LocalQueue, ResourceFlavor and WorkloadPriorityClass."""

from fractions import Fraction

from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_objects import read_priority
from fairlead.manifest.core.read_selector import read_taints, read_tolerations
from fairlead.manifest.kueue.objects import (
    FlavorObject,
    LocalQueueObject,
    WorkloadPriorityClassObject,
)
from fairlead.manifest.kueue.reading.cluster_queue import STOP_POLICIES
from fairlead.manifest.kueue.reading.shared_fields import given_fields, read_fair_weight
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.axes import QueueName
from fairlead.model.catalogue import LocalQueue, ResourceFlavor


@reads_named
def read_local_queue(top: Cursor, metadata: Metadata) -> LocalQueueObject:
    """Read a LocalQueue of v1beta2 or v1beta1."""
    spec = top.mapping("spec", required=True)
    without_effect = given_fields(spec, "wallTimePolicy")
    stop_policy = spec.choice("stopPolicy", STOP_POLICIES, "None")
    consumed, consumed_at_ms = read_consumed(top)
    local_queue = LocalQueue(
        namespace=metadata.namespace,
        name=metadata.name,
        cluster_queue=QueueName(spec.text("clusterQueue")),
        stopped=stop_policy != "None",
        drained=stop_policy == "HoldAndDrain",
        weight=read_fair_weight(spec),
        consumed_billionths=consumed,
        consumed_at_ms=consumed_at_ms,
    )
    return LocalQueueObject(
        source=top.source, local_queue=local_queue, without_effect=without_effect
    )


_BILLIONTHS = 10**9


def read_consumed(top: Cursor) -> tuple[tuple[tuple[str, int], ...], int | None]:
    """Read ``status.fairSharing.admissionFairSharingStatus``: what was used, and as of when.

    In billionths, by resource, sorted; nothing and None if it is not there. What is finer is cut.
    """
    at = top
    for key in ("status", "fairSharing", "admissionFairSharingStatus"):
        at = at.mapping(key)
        at.ignore(*at.keys())  # a status may have fields of later versions
    resources = at.mapping("consumedResources")
    consumed = [(name, _amount(resources, name)) for name in sorted(resources.keys())]
    return tuple(each for each in consumed if each[1]), at.timestamp("lastUpdate", None)


def _amount(resources: Cursor, name: str) -> int:
    amount = resources.fraction(name, Fraction(0))
    if amount >= 0:
        return int(amount * _BILLIONTHS)
    resources.error(
        name,
        "out-of-range",
        "found less than 0, expected 0 or more: past usage only fades",
        "remove admissionFairSharingStatus, and Kueue writes it anew",
    )
    return 0


@reads_named
def read_flavor(top: Cursor, metadata: Metadata) -> FlavorObject:
    """Read a ResourceFlavor of v1beta2 or v1beta1."""
    top.ignore("status")
    spec = top.mapping("spec")
    flavor = ResourceFlavor(
        name=metadata.name,
        node_labels=tuple(sorted(spec.text_map("nodeLabels").items())),
        node_taints=read_taints(spec, "nodeTaints"),
        tolerations=read_tolerations(spec, "tolerations"),
        topology_name=spec.text("topologyName", ""),
    )
    topology = ("topologyName",) if flavor.topology_name else ()
    without_effect = given_fields(spec, *topology, "resourceWeights")
    return FlavorObject(source=top.source, flavor=flavor, without_effect=without_effect)


@reads_named
def read_workload_priority_class(top: Cursor, metadata: Metadata) -> WorkloadPriorityClassObject:
    """Read a workload priority class."""
    top.ignore("description")
    return WorkloadPriorityClassObject(
        source=top.source, name=metadata.name, value=read_priority(top)
    )
