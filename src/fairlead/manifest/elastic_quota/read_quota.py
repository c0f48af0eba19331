"""Reads an ``ElasticQuota``, of scheduler-plugins' API group or of the older one."""

from typing import Final

from fairlead.manifest.core.objects import ByResource
from fairlead.manifest.core.read_metadata import Metadata, read_metadata
from fairlead.manifest.elastic_quota.counted_resources import read_counted
from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.quantity import show_amount

KOORDINATOR_PREFIX: Final = "quota.scheduling.koordinator.sh/"


def read_elastic_quota(top: Cursor) -> ElasticQuotaObject | None:
    """Read a quota; None if it has no usable name. What does not count is reported and left out."""
    top.ignore("apiVersion", "kind", "status")
    metadata = read_metadata(top)
    spec = top.mapping("spec", required=True)
    least = read_counted(spec, "min")
    most = read_counted(spec, "max") if spec.has("max") else None
    spec.ignore("max")
    _refuse_min_above_max(spec, least, most or {})
    _warn_about_tree(top, metadata)
    top.finish()
    if not metadata.name:
        return None
    return ElasticQuotaObject(
        source=top.source,
        namespace=metadata.namespace,
        name=metadata.name,
        min=least,
        max=most,
        created_ms=metadata.created_ms,
    )


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
