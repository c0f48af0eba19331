"""What the readers of all owners share: templates, conditions, counts.

The fields of an owner beside its templates are many and differ between versions, and most do not
matter to scheduling: what is not read there is passed over in silence. A template is read as a pod
is, with a finding for each field that is not known.
"""

from collections.abc import Mapping
from typing import Any

from fairlead.manifest.core.device_claims import device_claims_of
from fairlead.manifest.core.owners.objects import OwnerObject, PodTemplate
from fairlead.manifest.core.read_gpu_share import read_gpu_share
from fairlead.manifest.core.read_metadata import Metadata
from fairlead.manifest.core.read_pod import SHAPES, claims_of
from fairlead.manifest.core.read_selector import sorted_selector
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.model.selector import LabelRequirement, LabelSelector


def passed_over(parent: Cursor, key: str) -> Cursor:
    """Step into a mapping of which only some fields are read, and the others need no finding."""
    found = parent.mapping(key)
    found.ignore(*found.keys())
    return found


def read_count(parent: Cursor, key: str, default: int) -> int:
    """Read a number of pods or replicas."""
    return parent.integer(key, default, minimum=0, maximum=MAX_COUNT)


def read_template(
    parent: Cursor,
    namespace: str,
    *,
    key: str = "template",
    labels: Mapping[str, str] | None = None,
) -> PodTemplate | None:
    """Read the template at *key* of *parent* for pods in *namespace*; None: there is none.

    *labels* are added by the controller, which matters to the affinities of the pods.
    """
    if not parent.has(key):
        return None
    template = passed_over(parent, key)
    metadata = passed_over(template, "metadata")
    own = metadata.text_map("labels")
    annotations = metadata.text_map("annotations")
    spec, _ = SHAPES.read(template, namespace=namespace, labels={**own, **(labels or {})})
    share = read_gpu_share(template, annotations)
    source = Source(piece=parent.source.piece, path=(*parent.source.path, *template.path()))
    return PodTemplate(
        source=source,
        labels=own,
        annotations=annotations,
        spec=spec,
        gpu_share=share,
        claims=claims_of(template.value.get("spec")),
        device_claims=device_claims_of(template.value.get("spec")),
    )


def true_conditions(status: Cursor) -> frozenset[str]:
    """Return the types of the conditions that hold."""
    found = set()
    for condition in status.items("conditions"):
        condition.ignore(*condition.keys())
        if condition.text("status", "") == "True":
            found.add(condition.text("type", ""))
    return frozenset(found)


def having(labels: Mapping[str, str]) -> LabelSelector:
    """Return what selects pods that have all these *labels*."""
    return sorted_selector(
        [LabelRequirement(key=key, operator="In", values=(value,)) for key, value in labels.items()]
    )


def owner_of(top: Cursor, metadata: Metadata, **fields: Any) -> OwnerObject:
    """Return the owner *top*, which has *fields* besides what is the same in all kinds."""
    return OwnerObject(
        source=top.source,
        api_version=top.text("apiVersion", ""),
        owner_kind=top.text("kind", ""),
        namespace=metadata.namespace,
        name=metadata.name,
        identity=metadata.identity,
        labels=metadata.labels,
        annotations=metadata.annotations,
        created_ms=metadata.created_ms,
        **fields,
    )
