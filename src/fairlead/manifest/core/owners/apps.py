"""Reads ``Deployment``, ``ReplicaSet`` and ``StatefulSet`` (apps/v1)."""

from typing import Final

from fairlead.manifest.core.claim_spec import EphemeralVolume
from fairlead.manifest.core.owners.objects import OwnerObject, PodCounts, PodNames, Role
from fairlead.manifest.core.owners.read_owner import (
    owner_of,
    passed_over,
    read_count,
    read_template,
)
from fairlead.manifest.core.owners.stable_names import stable_suffix
from fairlead.manifest.core.read_claim_spec import read_claim_spec
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_selector import read_label_selector
from fairlead.manifest.text.cursor import Cursor

HASH_LABEL: Final = "pod-template-hash"
ORDINAL_LABEL: Final = "apps.kubernetes.io/pod-index"
_HASH_LENGTH: Final = 10


@reads_named
def read_deployment(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a Deployment, whose pods are those of the ReplicaSet that it makes."""
    made_by = stable_suffix(f"{metadata.namespace}/{metadata.name}", _HASH_LENGTH)
    return _replicated(
        top,
        metadata,
        stem=f"{metadata.name}-{made_by}",
        names=PodNames.RANDOM,
        labels={HASH_LABEL: made_by},
    )


@reads_named
def read_replica_set(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a ReplicaSet."""
    return _replicated(top, metadata, stem=metadata.name, names=PodNames.RANDOM)


@reads_named
def read_stateful_set(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a StatefulSet, whose pods are numbered."""
    ordinals = passed_over(passed_over(top, "spec"), "ordinals")
    return _replicated(
        top,
        metadata,
        stem=metadata.name,
        names=PodNames.INDEXED,
        first_index=read_count(ordinals, "start", 0),
        index_label=ORDINAL_LABEL,
        claims=tuple(map(_claim, passed_over(top, "spec").items("volumeClaimTemplates"))),
    )


def _claim(template: Cursor) -> EphemeralVolume:
    template.ignore(*template.keys())
    name = passed_over(template, "metadata").text("name")
    claim = read_claim_spec(template.mapping("spec"))
    return EphemeralVolume(name=name, claim=claim, is_of_set=True)


def _replicated(
    top: Cursor,
    metadata: Metadata,
    *,
    stem: str,
    names: PodNames,
    labels: dict[str, str] | None = None,
    first_index: int = 0,
    index_label: str = "",
    claims: tuple[EphemeralVolume, ...] = (),
) -> OwnerObject:
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    template = read_template(spec, metadata.namespace, labels=labels)
    has_selector = spec.has("selector")
    selector = read_label_selector(spec.mapping("selector"))
    role = template and Role(
        template=template,
        pods_each=read_count(spec, "replicas", 1),
        stem=stem,
        names=names,
        labels=labels or {},
        first_index=first_index,
        index_label=index_label,
        claims=claims,
    )
    return owner_of(
        top,
        metadata,
        roles=() if role is None else (role,),
        pods=PodCounts(
            active=read_count(status, "replicas", 0),
            ready=read_count(status, "readyReplicas", 0),
        ),
        selector=selector if has_selector and selector.requirements else None,
    )
