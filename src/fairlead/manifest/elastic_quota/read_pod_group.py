"""Reads the ``PodGroup`` that goes with ElasticQuota: pods that start together or not at all."""

from typing import Final

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.elastic_quota.counted_resources import read_counted
from fairlead.manifest.elastic_quota.objects import PluginPodGroupObject
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT

_IGNORED_STATUS: Final = ("failed", "occupiedBy", "phase", "running", "scheduled", "succeeded")


def read_plugin_pod_group(top: Cursor) -> PluginPodGroupObject | None:
    """Read a pod group; None if it has no usable name."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec = top.mapping("spec", required=True)
    min_member = spec.integer("minMember", 1, minimum=1, maximum=MAX_COUNT)
    has_resources = spec.has("minResources")
    min_resources = read_counted(spec, "minResources")
    timeout_s = spec.integer("scheduleTimeoutSeconds", None, minimum=0, maximum=MAX_COUNT)
    status = top.mapping("status")
    status.ignore(*_IGNORED_STATUS)
    started_ms = status.timestamp("scheduleStartTime", None)
    top.finish()
    if not metadata.name:
        return None
    return PluginPodGroupObject(
        source=top.source,
        identity=metadata.identity,
        namespace=metadata.namespace,
        name=metadata.name,
        min_member=min_member,
        min_resources=min_resources if has_resources else None,
        schedule_timeout_s=timeout_s,
        schedule_started_ms=started_ms,
        created_ms=metadata.created_ms,
    )
