"""Reads volumes: PersistentVolumes, claims for them, and StorageClasses.

Of a volume it is read which nodes reach it and which claim may have it; of its driver, no more than
how many of its volumes a node can attach.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from fairlead.manifest.core.read_claim_spec import STORAGE, VOLUME_MODES, read_claim_spec
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_selector import read_node_terms
from fairlead.manifest.core.volume_objects import (
    AttachLimitsObject,
    ClaimObject,
    ClaimPhase,
    StorageClassObject,
    VolumeObject,
    Zones,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import field_names, words
from fairlead.model.selector import LabelRequirement, NodeTerm

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
# Labels of volumes that keep pods in their zone, by name today; the older ones mean the same.
ZONE_LABELS: Final = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_BETWEEN_ZONES: Final = "__"

_CLAIM_PHASES: Final[Mapping[str, ClaimPhase]] = words(ClaimPhase)
_VOLUME_PHASES: Final = words(Literal["Pending", "Available", "Bound", "Released", "Failed"])
_BINDING_MODES: Final = {"Immediate": False, "WaitForFirstConsumer": True}
_IGNORED_OF_VOLUMES: Final = field_names(
    """
    awsElasticBlockStore azureDisk azureFile cephfs cinder fc flexVolume flocker
    gcePersistentDisk glusterfs hostPath iscsi local mountOptions nfs persistentVolumeReclaimPolicy
    photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos volumeAttributesClassName
    vsphereVolume
    """
)
_IGNORED_OF_CLASSES: Final = field_names(
    "allowVolumeExpansion mountOptions parameters reclaimPolicy"
)


@reads_named
def read_claim(top: Cursor, metadata: Metadata) -> ClaimObject:
    """Read a claim. One that names its volume is bound, unless its status says otherwise."""
    spec = read_claim_spec(top.mapping("spec", required=True))
    status = top.mapping("status")
    phase = status.choice("phase", _CLAIM_PHASES, None) or "Bound"
    if phase == "Bound" and not spec.volume:
        phase = "Pending"
    status.ignore(*status.keys())
    annotations = metadata.annotations
    if CLASS_ANNOTATION in annotations:
        spec = msgspec.structs.replace(spec, storage_class=annotations[CLASS_ANNOTATION])
    return ClaimObject(
        source=top.source,
        namespace=metadata.namespace,
        name=metadata.name,
        spec=spec,
        phase=phase,
        leaving=metadata.is_leaving,
        selected_node=annotations.get(SELECTED_NODE, ""),
    )


@reads_named
def read_volume(top: Cursor, metadata: Metadata) -> VolumeObject:
    """Read a volume."""
    spec, status = top.mapping("spec", required=True), top.mapping("status")
    spec.ignore(*_IGNORED_OF_VOLUMES)
    affinity = spec.mapping("nodeAffinity")
    is_bound_to_nodes = affinity.has("required")
    terms = read_node_terms(affinity.mapping("required"))
    csi = spec.mapping("csi")
    csi.ignore(*csi.keys())
    claim = spec.mapping("claimRef")
    claim.ignore(*claim.keys())
    owner = claim.text("name", "")
    phase = status.choice("phase", _VOLUME_PHASES, "Available")
    status.ignore(*status.keys())
    return VolumeObject(
        source=top.source,
        name=metadata.name,
        labels=metadata.labels,
        node_terms=terms if is_bound_to_nodes else None,
        zones=_zones(metadata),
        storage_class=spec.text("storageClassName", "")
        or metadata.annotations.get(CLASS_ANNOTATION, ""),
        access_modes=tuple(sorted(set(spec.texts("accessModes")))),
        capacity=spec.quantities("capacity").get(STORAGE, 0),
        mode=spec.choice("volumeMode", VOLUME_MODES, "Filesystem"),
        driver=csi.text("driver", ""),
        handle=csi.text("volumeHandle", ""),
        claim=f"{claim.text('namespace', 'default')}/{owner}" if owner else "",
        is_free=phase in ("Pending", "Available") and not metadata.is_leaving,
    )


def _zones(metadata: Metadata) -> Zones:
    """Return the zones and regions that the labels of a volume name; a label may name several."""
    found = {
        ZONE_LABELS[key]: tuple(sorted(value.split(_BETWEEN_ZONES)))
        for key, value in metadata.labels.items()
        if key in ZONE_LABELS
    }
    return tuple(sorted(found.items()))


@reads_named
def read_storage_class(top: Cursor, metadata: Metadata) -> StorageClassObject:
    """Read a StorageClass."""
    top.ignore(*_IGNORED_OF_CLASSES)
    annotations = metadata.annotations
    return StorageClassObject(
        source=top.source,
        name=metadata.name,
        provisioner=top.text("provisioner"),
        waits_for_pod=bool(top.choice("volumeBindingMode", _BINDING_MODES, False)),
        topologies=tuple([_topology(term) for term in top.items("allowedTopologies")]),
        is_default=any(annotations.get(key) == "true" for key in DEFAULT_CLASS_ANNOTATIONS),
        created_ms=metadata.created_ms,
    )


def _topology(term: Cursor) -> NodeTerm:
    """Read one alternative of the allowed topologies, which selects nodes by values of labels."""
    return NodeTerm(
        labels=tuple(
            [
                LabelRequirement(key=each.text("key"), operator="In", values=each.texts("values"))
                for each in term.items("matchLabelExpressions")
            ]
        )
    )


@reads_named
def read_attach_limits(top: Cursor, metadata: Metadata) -> AttachLimitsObject:
    """Read a CSINode. A driver without a limit attaches any number of volumes."""
    limits = {}
    for driver in top.mapping("spec").items("drivers"):
        driver.ignore("nodeID", "topologyKeys")
        name = driver.text("name")
        most = driver.mapping("allocatable").integer("count", None, minimum=0)
        if most is not None:
            limits[name] = most
    return AttachLimitsObject(source=top.source, name=metadata.name, limits=limits)
