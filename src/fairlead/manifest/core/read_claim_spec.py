"""Reads what a claim asks for, and which claims the volumes of a pod name."""

from collections.abc import Iterable
from typing import Final

from fairlead.manifest.core.claim_spec import ClaimSpec, EphemeralVolume, VolumeMode
from fairlead.manifest.core.read_selector import read_label_selector
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.values import Value

STORAGE: Final = "storage"
VOLUME_MODES: Final = words(VolumeMode)
CLAIM: Final = "persistentVolumeClaim"
EPHEMERAL: Final = "ephemeral"

_IGNORED: Final = ("dataSource", "dataSourceRef", "volumeAttributesClassName")
_KNOWN_OF_REFERENCES: Final = frozenset({"claimName", "readOnly"})


def read_claim_spec(spec: Cursor) -> ClaimSpec:
    """Read what a claim asks for."""
    spec.ignore(*_IGNORED)
    has_selector = spec.has("selector")
    selector = read_label_selector(spec.mapping("selector"))
    resources = spec.mapping("resources")
    resources.ignore("limits")
    return ClaimSpec(
        storage_class=spec.text("storageClassName", None),
        access_modes=tuple(sorted(set(spec.texts("accessModes")))),
        storage=resources.quantities("requests").get(STORAGE, 0),
        selector=selector if has_selector else None,
        mode=spec.choice("volumeMode", VOLUME_MODES, "Filesystem"),
        volume=spec.text("volumeName", ""),
    )


def read_ephemeral_volumes(volumes: Iterable[Cursor]) -> tuple[EphemeralVolume, ...]:
    """Read those of the *volumes* of a pod whose claims are made for it.

    References to other claims are checked, and nothing is kept of them: see `claim_names`.
    """
    found = []
    for volume in volumes:
        if volume.has(CLAIM):
            reference = volume.mapping(CLAIM)
            reference.text("claimName")
            reference.boolean("readOnly", False)
        if volume.has(EPHEMERAL):
            template = volume.mapping(EPHEMERAL).mapping("volumeClaimTemplate", required=True)
            template.ignore("metadata")
            claim = read_claim_spec(template.mapping("spec", required=True))
            found.append(EphemeralVolume(name=volume.text("name"), claim=claim))
    return tuple(found)


def claim_names(volumes: Value) -> tuple[str, ...]:
    """Return the claims that the *volumes* of a pod name, as written, each once, sorted.

    It is the one thing in which the specs of alike pods differ, so it is looked up apart.
    """
    if not isinstance(volumes, list):
        return ()
    names = []
    for volume in volumes:
        reference = volume.get(CLAIM) if isinstance(volume, dict) else None
        if isinstance(reference, dict):
            name = reference.get("claimName")
            if isinstance(name, str) and name:
                names.append(name)
    return tuple(sorted(set(names))) if names else ()


def is_plain_reference(reference: Value) -> bool:
    """Return whether nothing but its name is to be read of a reference to a claim."""
    if not isinstance(reference, dict) or not reference.keys() <= _KNOWN_OF_REFERENCES:
        return False
    name, read_only = reference.get("claimName"), reference.get("readOnly")
    return type(name) is str and bool(name) and (read_only is None or type(read_only) is bool)
