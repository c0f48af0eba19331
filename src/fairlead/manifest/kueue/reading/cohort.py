"""Reads Kueue's Cohort, in all versions of its API."""

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.kueue.objects import CohortObject
from fairlead.manifest.kueue.reading.resource_groups import QuotaOwner, read_resource_groups
from fairlead.manifest.kueue.reading.shared_fields import read_fair_weight, read_renamed
from fairlead.manifest.text.cursor import Cursor


def read_cohort(top: Cursor) -> CohortObject | None:
    """Read a Cohort of v1beta2, v1beta1 or v1alpha1; None if it has no usable name."""
    is_old = top.text("apiVersion", "").endswith("/v1alpha1")
    top.ignore("kind", "status")
    metadata = read_metadata(top)
    spec = top.mapping("spec")
    # v1alpha1 began with parent and renamed it later, so either is right there.
    has_old_name = is_old and spec.has("parent")
    names = ("parent", "parentName") if has_old_name else ("parentName", "parent")
    parent_field, parent = read_renamed(spec, *names)
    owner = QuotaOwner(
        parent_field=parent_field, has_parent=bool(parent), lends_at_most_guaranteed=False
    )
    read = read_resource_groups(spec, owner)
    weight = read_fair_weight(spec)
    top.finish()
    if not metadata.name:
        return None
    return CohortObject(
        source=top.source,
        name=metadata.name,
        parent=parent,
        parent_path=("spec", parent_field),
        weight=weight,
        created_ms=metadata.created_ms,
        quotas=read.quotas,
        resource_groups=read.groups,
    )
