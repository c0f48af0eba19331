"""Volumes as read: what pods claim, what there is, and what can be made.

Storage is compared in bytes, and never charged to a queue.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from fairlead.manifest.core.claim_spec import ClaimSpec, VolumeMode
from fairlead.manifest.core.objects import NamedObject, NamespacedObject
from fairlead.model.selector import NodeTerm

Labels: TypeAlias = Mapping[str, str]
Zones: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
ClaimPhase: TypeAlias = Literal["Pending", "Bound", "Lost"]


class ClaimObject(NamespacedObject, frozen=True, kw_only=True):
    """A ``PersistentVolumeClaim``."""

    kind: ClassVar = "PersistentVolumeClaim"
    spec: ClaimSpec
    phase: ClaimPhase
    leaving: bool = False
    selected_node: str = ""  # where a volume is being made for it; "": nowhere yet


class VolumeObject(NamedObject, frozen=True, kw_only=True):
    """A ``PersistentVolume``."""

    kind: ClassVar = "PersistentVolume"
    labels: Labels
    node_terms: tuple[NodeTerm, ...] | None = None  # None: it can be reached from every node
    zones: Zones = ()  # by its labels
    storage_class: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: int = 0
    mode: VolumeMode = "Filesystem"
    driver: str = ""  # of the interface CSI, with its own name for the volume; "": another one
    handle: str = ""
    claim: str = ""  # namespace/name of the one that has it or may have it; "": any may
    is_free: bool = True  # neither bound nor being removed


class StorageClassObject(NamedObject, frozen=True, kw_only=True):
    """A ``StorageClass``."""

    kind: ClassVar = "StorageClass"
    provisioner: str
    waits_for_pod: bool = False  # a volume is bound once a pod that uses it has a node
    topologies: tuple[NodeTerm, ...] = ()  # where volumes may be made; none: everywhere
    is_default: bool = False
    created_ms: int = 0


class AttachLimitsObject(NamedObject, frozen=True, kw_only=True):
    """A ``CSINode``: how many volumes of each driver the node of that name can attach."""

    kind: ClassVar = "CSINode"
    limits: Mapping[str, int]
