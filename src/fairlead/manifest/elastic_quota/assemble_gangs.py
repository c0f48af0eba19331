"""Which pods form one workload under an ElasticQuota: a pod group's, or a pod on its own.

A workload's name depends on nothing but its own object: ``namespace/name`` of a pod on its own,
and always ``namespace/podgroup/name`` of a group, so that a pod of the same name may come and go.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from fairlead.manifest.core.core_objects import full_name
from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import PluginPodGroupObject, PodObject
from fairlead.manifest.text.path import quote
from fairlead.model.axes import WorkloadName

GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that start together, by name; a pod without a group is a gang of one."""

    name: WorkloadName
    namespace: str
    pods: tuple[PodObject, ...]
    group: PluginPodGroupObject | None = None

    @property
    def min_count(self) -> int:
        """How many of the pods must start together, which may be more than there are."""
        return self.group.min_member if self.group else 1


def gangs_of(
    pods: Iterable[PodObject], groups: Iterable[PluginPodGroupObject], findings: Findings
) -> list[Gang]:
    """Return every live pod in exactly one gang, sorted by the gang's name.

    A pod whose group is not in the input stands on its own, with a warning.
    """
    known = {(group.namespace, group.name): group for group in groups}
    members: dict[tuple[str, str], list[PodObject]] = {}
    lone: list[PodObject] = []
    for pod in pods:
        if is_live(pod):
            key = _group_of(pod, known.keys(), findings)
            if key is None:
                lone.append(pod)
            else:
                members.setdefault(key, []).append(pod)
    found = [
        *(_lone_gang(pod) for pod in lone),
        *(_gang(known[key], own) for key, own in members.items()),
    ]
    return sorted(found, key=lambda gang: gang.name)


def _group_of(
    pod: PodObject, known: Iterable[tuple[str, str]], findings: Findings
) -> tuple[str, str] | None:
    for label in GROUP_LABELS:
        name = pod.labels.get(label, "")
        if not name:
            continue
        if (pod.namespace, name) in known:
            return pod.namespace, name
        pod.source.report(
            findings,
            "warning",
            "missing-reference",
            ("metadata", "labels", label),
            f"found the group {quote(name)}, which is not in the input; the pod stands alone",
            f"add the PodGroup {name} in namespace {pod.namespace}",
        )
        return None
    return None


def _lone_gang(pod: PodObject) -> Gang:
    return Gang(name=WorkloadName(full_name(pod)), namespace=pod.namespace, pods=(pod,))


def _gang(group: PluginPodGroupObject, pods: Sequence[PodObject]) -> Gang:
    # No pod has this name: none has a slash in its own.
    name = WorkloadName(f"{group.namespace}/podgroup/{group.name}")
    by_name = tuple(sorted(pods, key=lambda pod: pod.name))
    return Gang(name=name, namespace=group.namespace, pods=by_name, group=group)
