"""Which kinds of object are read of a cluster, and what it means that one may not be."""

from collections.abc import Iterable

from msgspec.structs import replace

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.translate.family import OF_A_CLUSTER, AssemblyRules
from fairlead.policy.contract import PolicyName

_CLAIMS = frozenset({"PersistentVolume", "PersistentVolumeClaim"})


def kinds_to_read(policy: PolicyName | None) -> dict[GroupKind, tuple[str, ...]]:
    """Return the kinds that manifests may hold under *policy*, each with the versions we read.

    None: under any. Kinds that no API server has are among them: discovery leaves them out.
    """
    return {
        key: kind.versions
        for key, kind in KINDS.items()
        if policy is None or kind.policy in (None, policy)
    }


def rules_without(unread: Iterable[GroupKind]) -> AssemblyRules:
    """Return how to take the objects of a cluster of which the kinds *unread* may not be read.

    What is read of a cluster is complete, so a pod waits whose group or claim is not there. Kinds
    that may not be read are taken as if they had been left out of a file. An object that is not
    valid is one of many, and no reason to refuse an answer about the others. Owners count with the
    pods that their controllers would make, as in files: nothing here starts a pod.
    """
    names = {name for _, name in unread}
    return replace(
        OF_A_CLUSTER,
        makes_pods=True,
        missing_group="alone" if "PodGroup" in names else "waits",
        missing_claims="wait" if names.isdisjoint(_CLAIMS) else "fit",
        queue_totals="Pod" in names,
    )
