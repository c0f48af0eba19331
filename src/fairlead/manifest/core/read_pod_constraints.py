"""Reads where a pod may run, and names what it asks for that no filter of ours knows.

A constraint that is not understood must not be forgotten: the pod would be placed where its owner
forbade it. Its field's name goes into ``unsupported`` instead, and the pod waits.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from fairlead.manifest.core.read_containers import Container
from fairlead.manifest.core.read_selector import (
    read_label_selector,
    read_node_terms,
    read_tolerations,
    sorted_selector,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.selector import LabelRequirement, LabelSelector, NodeTerm, PodTerm
from fairlead.model.workload import PodConstraints

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LIKE: Final = "matchLabelKeys"
_UNLIKE: Final = "mismatchLabelKeys"
_WHEN_UNSATISFIABLE: Final = {"DoNotSchedule": True, "ScheduleAnyway": False}
_SPREAD_FIELDS: Final = (
    "labelSelector",
    "matchLabelKeys",
    "maxSkew",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "topologyKey",
)
BINDING_VOLUMES: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "ephemeral",
    "gcePersistentDisk",
    "iscsi",
    "persistentVolumeClaim",
    "rbd",
)
PASSED_OVER_OF_VOLUMES: Final = frozenset(
    {
        "azureFile",
        "cephfs",
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gitRepo",
        "glusterfs",
        "hostPath",
        "image",
        "name",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "projected",
        "quobyte",
        "scaleIO",
        "secret",
        "storageos",
        "vsphereVolume",
    }
)


def read_pod_constraints(
    spec: Cursor, lasting: Iterable[Container], *, namespace: str, labels: Mapping[str, str]
) -> PodConstraints:
    """Read the constraints of a pod with *labels* in *namespace*.

    Its *lasting* containers are its main ones and sidecars.
    """
    affinity = spec.mapping("affinity")
    return PodConstraints(
        node_selector=tuple(sorted(spec.text_map("nodeSelector").items())),
        node_terms=_node_terms(affinity.mapping("nodeAffinity")),
        tolerations=read_tolerations(spec, "tolerations"),
        host_ports=tuple(sorted({port for one in lasting for port in one.host_ports})),
        pod_affinity=read_pod_terms(affinity, "podAffinity", namespace=namespace, labels=labels),
        pod_anti_affinity=read_pod_terms(
            affinity, "podAntiAffinity", namespace=namespace, labels=labels
        ),
        unsupported=tuple(sorted(set(_unsupported_fields(spec)))),
    )


def _node_terms(affinity: Cursor) -> tuple[NodeTerm, ...] | None:
    affinity.ignore(_PREFERRED)
    is_required = affinity.has(_REQUIRED)
    required = affinity.mapping(_REQUIRED)
    return read_node_terms(required) if is_required else None


def _unsupported_fields(spec: Cursor) -> Iterator[str]:
    for rule in spec.items("topologySpreadConstraints"):
        rule.ignore(*_SPREAD_FIELDS)
        if rule.choice("whenUnsatisfiable", _WHEN_UNSATISFIABLE):
            yield "topologySpreadConstraints"
    for volume in spec.items("volumes"):
        volume.ignore(*PASSED_OVER_OF_VOLUMES, *BINDING_VOLUMES)
        yield from (f"volumes.{kind}" for kind in BINDING_VOLUMES if volume.has(kind))
    for claim in spec.items("resourceClaims"):
        claim.ignore("name", "resourceClaimName", "resourceClaimTemplateName", "source")
        yield "resourceClaims"


def read_pod_terms(
    affinity: Cursor,
    kind: Literal["podAffinity", "podAntiAffinity"],
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> tuple[PodTerm, ...]:
    """Read the required terms at *kind* of a pod with *labels* in *namespace*.

    Preferred ones are passed over.
    """
    rules = affinity.mapping(kind)
    rules.ignore(_PREFERRED)
    return tuple(_pod_term(term, namespace, labels) for term in rules.items(_REQUIRED))


def _pod_term(term: Cursor, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    has_others = term.has("namespaceSelector")
    others = read_label_selector(term.mapping("namespaceSelector"))
    listed = tuple(sorted(set(term.texts("namespaces"))))
    return PodTerm(
        topology_key=term.text("topologyKey"),
        selector=_selector(term, labels),
        namespaces=listed if listed or has_others else (namespace,),
        namespace_selector=others if has_others else None,
    )


def _selector(term: Cursor, labels: Mapping[str, str]) -> LabelSelector | None:
    is_given = term.has("labelSelector")
    written = read_label_selector(term.mapping("labelSelector"))
    like, unlike = term.texts(_LIKE), term.texts(_UNLIKE)
    if not is_given:
        for field, keys in ((_LIKE, like), (_UNLIKE, unlike)):
            if keys:
                message = f"found {field} without a labelSelector, which selects no pod"
                term.error(field, "contradiction", message, "add the labelSelector")
        return None
    for key in sorted({*like} & {*unlike}):
        message = f"found {quote(key)} both here and in {_LIKE}, which no pod can meet"
        term.error(_UNLIKE, "contradiction", message, "remove it from one of the two")
    return sorted_selector(
        [
            *written.requirements,
            # The API server adds these itself, so a pod read from it has them already.
            *(_requirement(key, "In", labels) for key in like if key in labels),
            *(_requirement(key, "NotIn", labels) for key in unlike if key in labels),
        ]
    )


def _requirement(
    key: str, operator: Literal["In", "NotIn"], labels: Mapping[str, str]
) -> LabelRequirement:
    return LabelRequirement(key=key, operator=operator, values=(labels[key],))
