"""Which pods form one workload under an ElasticQuota: a pod group's, or a pod on its own."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

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

    A pod whose group is not in the input stands on its own, with a warning. A gang is called after
    its group, and where a lone pod has that name already, ``namespace/podgroup/name``.
    """
    known = {(group.namespace, group.name): group for group in groups}
    members: dict[tuple[str, str], list[PodObject]] = {}
    lone: dict[str, PodObject] = {}
    for pod in pods:
        if is_live(pod):
            key = _group_of(pod, known.keys(), findings)
            if key is None:
                lone[f"{pod.namespace}/{pod.name}"] = pod
            else:
                members.setdefault(key, []).append(pod)
    found = [_lone_gang(name, pod) for name, pod in lone.items()]
    for (namespace, name), own in members.items():
        is_taken = f"{namespace}/{name}" in lone
        title = f"{namespace}/podgroup/{name}" if is_taken else f"{namespace}/{name}"
        found.append(_gang(title, known[namespace, name], own))
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


def _lone_gang(name: str, pod: PodObject) -> Gang:
    return Gang(name=WorkloadName(name), namespace=pod.namespace, pods=(pod,))


def _gang(name: str, group: PluginPodGroupObject, pods: Sequence[PodObject]) -> Gang:
    by_name = tuple(sorted(pods, key=lambda pod: pod.name))
    return Gang(name=WorkloadName(name), namespace=group.namespace, pods=by_name, group=group)
