"""Reads where a pod may run, and names what it asks for that no filter of ours knows.

A constraint that is not understood must not be forgotten: the pod would be placed where its owner
forbade it. Its field's name goes into ``unsupported`` instead, and the pod waits.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fairlead.manifest.core.read_containers import Container
from fairlead.manifest.core.read_pod_affinity import read_pod_terms
from fairlead.manifest.core.read_selector import read_node_terms, read_tolerations
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.selector import NodeTerm
from fairlead.model.workload import PodConstraints

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
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
