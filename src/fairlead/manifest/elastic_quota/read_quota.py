"""Reads ElasticQuotas and the PodGroups that go with them, and says which resources they count."""

from typing import Final

from fairlead.manifest.core.objects import ByResource
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject, PluginPodGroupObject
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import quote
from fairlead.model.quantity import show_amount

_CORE: Final = ("cpu", "memory", "ephemeral-storage")
_PREFIXES: Final = ("hugepages-", "attachable-volumes-")
_QUOTA_PREFIX: Final = "requests."  # as a ResourceQuota writes it


def is_counted(resource: str) -> bool:
    """Return whether a quota on *resource* has an effect: pods can request it and it is summed."""
    if resource in _CORE or resource.startswith(_PREFIXES):
        return True
    return "/" in resource and not resource.startswith(_QUOTA_PREFIX)


def read_counted(spec: Cursor, key: str) -> dict[str, int]:
    """Read amounts by resource. What no quota counts is left out, and reported."""
    amounts = spec.quantities(key)
    for resource in amounts:
        if not is_counted(resource):
            message = f"found {quote(resource)}, which no quota counts; it has no effect"
            spec.warn((key, resource), "no-effect", message, _cure(resource))
    return {resource: amount for resource, amount in amounts.items() if is_counted(resource)}


def _cure(resource: str) -> str:
    if resource == "pods":
        return "remove it; the number of pods is not limited by an ElasticQuota"
    plain = resource.removeprefix("requests.").removeprefix("limits.")
    if is_counted(plain):
        return f"write {plain}"
    if resource == "gpu":
        return "write the name that pods ask for, such as nvidia.com/gpu"
    return "remove it, or write the name that pods ask for, such as nvidia.com/gpu"


_IGNORED_STATUS: Final = ("failed", "occupiedBy", "phase", "running", "scheduled", "succeeded")


@reads_named
def read_plugin_pod_group(top: Cursor, metadata: Metadata) -> PluginPodGroupObject:
    """Read a pod group."""
    spec = top.mapping("spec", required=True)
    min_member = spec.integer("minMember", 1, minimum=1, maximum=MAX_COUNT)
    has_resources = spec.has("minResources")
    min_resources = read_counted(spec, "minResources")
    timeout_s = spec.integer("scheduleTimeoutSeconds", None, minimum=0, maximum=MAX_COUNT)
    status = top.mapping("status")
    status.ignore(*_IGNORED_STATUS)
    started_ms = status.timestamp("scheduleStartTime", None)
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


KOORDINATOR_PREFIX: Final = "quota.scheduling.koordinator.sh/"


@reads_named
def read_elastic_quota(top: Cursor, metadata: Metadata) -> ElasticQuotaObject:
    """Read a quota. What does not count is reported and left out."""
    top.ignore("status")
    spec = top.mapping("spec", required=True)
    least = read_counted(spec, "min")
    most = read_counted(spec, "max") if spec.has("max") else None
    spec.ignore("max")
    _refuse_min_above_max(spec, least, most or {})
    _warn_about_tree(top, metadata)
    return ElasticQuotaObject(
        source=top.source,
        group=_group(top),
        namespace=metadata.namespace,
        name=metadata.name,
        min=least,
        max=most,
        created_ms=metadata.created_ms,
    )


def _group(top: Cursor) -> str:
    version = top.value.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def _refuse_min_above_max(spec: Cursor, least: ByResource, most: ByResource) -> None:
    """Report each resource of which more is guaranteed than allowed."""
    for resource, limit in sorted(most.items()):
        amount = least.get(resource, 0)
        if amount > limit:
            message = f"found min {show_amount(resource, amount)} above "
            message += f"max {show_amount(resource, limit)}, expected at most max"
            spec.error(("min", resource), "contradiction", message, "raise max or lower min")


def _warn_about_tree(top: Cursor, metadata: Metadata) -> None:
    """Koordinator hangs quotas in a tree by labels; here every quota stands on its own."""
    for key, names in (("labels", metadata.labels), ("annotations", metadata.annotations)):
        for name in names:
            if name.startswith(KOORDINATOR_PREFIX):
                message = f"found {quote(name)}, which has no effect yet; quotas form no tree here"
                top.warn(("metadata", key, name), "no-effect", message, "remove it")
