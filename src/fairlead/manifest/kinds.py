"""Every kind of object that Fairlead reads, in which versions, and for which rule set.

A kind is known by its API group and its name together: three groups have a ``PodGroup``, and the
``Queue`` of one scheduler is not that of another.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from fairlead.manifest.bundle import GroupAndKind, Kind, one_object
from fairlead.manifest.core.read_budget import read_budget
from fairlead.manifest.core.read_namespace import read_namespace
from fairlead.manifest.core.read_node import read_node
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.read_priority_class import read_priority_class
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.settings import read_settings

KINDS: Final[Mapping[GroupAndKind, Kind]] = {
    ("", "Namespace"): one_object(read_namespace, "v1"),
    ("", "Node"): one_object(read_node, "v1"),
    ("", "Pod"): one_object(read_pod, "v1"),
    ("policy", "PodDisruptionBudget"): one_object(read_budget, "v1", "v1beta1"),
    ("scheduling.k8s.io", "PriorityClass"): one_object(
        read_priority_class, "v1", "v1beta1", "v1alpha1"
    ),
    **{
        key: replace(kind, policy=bundle.policy)
        for bundle in BUNDLES.values()
        for key, kind in bundle.kinds.items()
    },
    ("fairlead", "Settings"): one_object(read_settings, "v1"),
}
"""By API group and kind."""

UNTYPED: Final = [bundle.untyped for bundle in BUNDLES.values() if bundle.untyped is not None]


def kind_title(group: str, kind: str) -> str:
    """Name a kind as kubectl does: ``Pod``, ``PodDisruptionBudget.policy``."""
    return f"{kind}.{group}" if group else kind


def kinds_in(group: str) -> list[str]:
    """Return the kinds that we know in *group*."""
    return [kind for known, kind in KINDS if known == group]


def groups_with(kind: str) -> list[str]:
    """Return the groups in which we know *kind*."""
    return [group for group, known in KINDS if known == kind]
