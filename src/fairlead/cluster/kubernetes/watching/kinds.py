"""Which kinds of object a live scheduler follows, and which of them it cannot do without."""

from typing import Final

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.registry import BUNDLES
from fairlead.policy.contract import PolicyName

_COMMON: Final[tuple[GroupKind, ...]] = (
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("policy", "PodDisruptionBudget"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
)
_OPTIONAL_GROUPS: Final = frozenset({"resource.k8s.io"})  # that an API server may not have

LIVE_PODS: Final = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)
"""The query for pods: those that have ended hold nothing."""


def kinds_to_watch(policy: PolicyName) -> dict[GroupKind, tuple[str, ...]]:
    """Return the kinds that decisions under *policy* rest on, each with the versions we read.

    Owners of pods are not among them: what their controllers made of them is.
    """
    own = BUNDLES[policy].kinds
    return {kind: KINDS[kind].versions for kind in (*_COMMON, *own)}


def missing_kinds(policy: PolicyName, served: frozenset[GroupKind]) -> frozenset[str]:
    """Return the kinds without which nothing may be planned, of those that are not *served*.

    Without the queues of a rule set its limits would be none. Of one kind in several API groups one
    is enough.
    """
    queues = {name for (_, name), kind in BUNDLES[policy].kinds.items() if kind.is_queue}
    present = {name for _, name in served}
    common = {name for group, name in _COMMON if group not in _OPTIONAL_GROUPS}
    return frozenset((queues | common) - present)
