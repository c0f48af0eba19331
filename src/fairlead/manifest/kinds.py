"""Every kind of object that we read: who reads it, in which versions, and whose it is.

A kind is known by its API group and its name together: three groups have a ``PodGroup``, and the
``Queue`` of one scheduler is not that of another.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from fairlead.manifest.core.read_budget import read_budget
from fairlead.manifest.core.read_namespace import read_namespace
from fairlead.manifest.core.read_node import read_node
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.read_priority_class import (
    read_priority_class,
    read_workload_priority_class,
)
from fairlead.manifest.elastic_quota.read_pod_group import read_plugin_pod_group
from fairlead.manifest.elastic_quota.read_quota import read_elastic_quota
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.read_config import read_kai_config
from fairlead.manifest.kai.read_pod_group import read_kai_pod_group
from fairlead.manifest.kai.read_queue import read_kai_queue
from fairlead.manifest.kai.read_shard import read_kai_shard
from fairlead.manifest.kai.read_share_simulation import read_share_simulation
from fairlead.manifest.kueue.read_cluster_queue import read_cluster_queue
from fairlead.manifest.kueue.read_cohort import read_cohort
from fairlead.manifest.kueue.read_configuration import read_kueue_configuration
from fairlead.manifest.kueue.read_flavor import read_flavor
from fairlead.manifest.kueue.read_local_queue import read_local_queue
from fairlead.manifest.kueue.read_workload import read_kueue_workload
from fairlead.manifest.objects import Object
from fairlead.manifest.read_settings import read_settings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.policy.contract import PolicyName

Reader: TypeAlias = Callable[[Cursor], Object | None]
DocumentReader: TypeAlias = Callable[[Document, Findings], Sequence[Object]]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind is read. ``family`` is None for what several rule sets use.

    ``is_queue``: an object of this kind shows which rule set the input is for.
    """

    read: DocumentReader
    versions: tuple[str, ...]
    family: PolicyName | None = None
    is_queue: bool = False


def _single(read: Reader) -> DocumentReader:
    """Read one object out of a document, or none if it is past mending."""

    def read_document(document: Document, findings: Findings) -> Sequence[Object]:
        found = read(Cursor.of(document, findings))
        return () if found is None else (found,)

    return read_document


def _shared(read: Reader, *versions: str) -> Kind:
    return Kind(read=_single(read), versions=versions)


def _kai(read: Reader, *versions: str, is_queue: bool = False) -> Kind:
    return Kind(read=_single(read), versions=versions, family="kai", is_queue=is_queue)


def _kueue(read: Reader, *versions: str, is_queue: bool = False) -> Kind:
    return Kind(read=_single(read), versions=versions, family="kueue", is_queue=is_queue)


def _elastic(read: Reader, *, is_queue: bool = False) -> Kind:
    return Kind(
        read=_single(read), versions=("v1alpha1",), family="elastic-quota", is_queue=is_queue
    )


KINDS: Final = MappingProxyType(
    {
        ("", "Namespace"): _shared(read_namespace, "v1"),
        ("", "Node"): _shared(read_node, "v1"),
        ("", "Pod"): _shared(read_pod, "v1"),
        ("policy", "PodDisruptionBudget"): _shared(read_budget, "v1", "v1beta1"),
        ("scheduling.k8s.io", "PriorityClass"): _shared(
            read_priority_class, "v1", "v1beta1", "v1alpha1"
        ),
        ("scheduling.run.ai", "Queue"): _kai(read_kai_queue, "v2", is_queue=True),
        ("scheduling.run.ai", "PodGroup"): _kai(read_kai_pod_group, "v2alpha2"),
        ("kai.scheduler", "SchedulingShard"): _kai(read_kai_shard, "v1"),
        ("kai.scheduler", "Config"): _kai(read_kai_config, "v1"),
        ("kueue.x-k8s.io", "ClusterQueue"): _kueue(
            read_cluster_queue, "v1beta2", "v1beta1", is_queue=True
        ),
        ("kueue.x-k8s.io", "Cohort"): _kueue(
            read_cohort, "v1beta2", "v1beta1", "v1alpha1", is_queue=True
        ),
        ("kueue.x-k8s.io", "LocalQueue"): _kueue(read_local_queue, "v1beta2", "v1beta1"),
        ("kueue.x-k8s.io", "ResourceFlavor"): _kueue(read_flavor, "v1beta2", "v1beta1"),
        ("kueue.x-k8s.io", "Workload"): _kueue(read_kueue_workload, "v1beta2", "v1beta1"),
        ("kueue.x-k8s.io", "WorkloadPriorityClass"): _kueue(
            read_workload_priority_class, "v1beta2", "v1beta1"
        ),
        ("config.kueue.x-k8s.io", "Configuration"): _kueue(
            read_kueue_configuration, "v1beta2", "v1beta1"
        ),
        ("scheduling.x-k8s.io", "ElasticQuota"): _elastic(read_elastic_quota, is_queue=True),
        ("scheduling.x-k8s.io", "PodGroup"): _elastic(read_plugin_pod_group),
        ("scheduling.sigs.k8s.io", "ElasticQuota"): _elastic(read_elastic_quota, is_queue=True),
        ("scheduling.sigs.k8s.io", "PodGroup"): _elastic(read_plugin_pod_group),
        ("fairlead", "Settings"): _shared(read_settings, "v1"),
    }
)
"""By API group and kind."""

SHARE_SIMULATION: Final = Kind(read=read_share_simulation, versions=(), family="kai", is_queue=True)
"""What KAI's share simulator is sent, which has neither API group nor kind."""


def kind_title(group: str, kind: str) -> str:
    """Name a kind as kubectl does: ``Pod``, ``ClusterQueue.kueue.x-k8s.io``."""
    return f"{kind}.{group}" if group else kind


def kinds_in(group: str) -> list[str]:
    """Return the kinds that we know in *group*."""
    return [kind for known, kind in KINDS if known == group]


def groups_with(kind: str) -> list[str]:
    """Return the groups in which we know *kind*."""
    return [group for group, known in KINDS if known == kind]
