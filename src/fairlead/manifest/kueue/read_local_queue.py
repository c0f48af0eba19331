"""Reads Kueue's LocalQueue: a namespace's door to a ClusterQueue."""

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.kueue.given_fields import given_fields
from fairlead.manifest.kueue.objects import LocalQueueObject
from fairlead.manifest.kueue.read_cluster_queue import STOP_POLICIES
from fairlead.manifest.kueue.read_consumed import read_consumed
from fairlead.manifest.kueue.read_fair_weight import read_fair_weight
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.axes import QueueName
from fairlead.model.catalogue import LocalQueue


def read_local_queue(top: Cursor) -> LocalQueueObject | None:
    """Read a LocalQueue of v1beta2 or v1beta1; None if it has no usable name."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
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
    top.finish()
    if not metadata.name:
        return None
    return LocalQueueObject(
        source=top.source, local_queue=local_queue, without_effect=without_effect
    )
