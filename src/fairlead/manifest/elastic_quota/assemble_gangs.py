"""Which pods form one workload under an ElasticQuota: a pod group's, or a pod on its own.

A workload's name depends on nothing but its own object: ``namespace/name`` of a pod on its own,
and always ``namespace/podgroup/name`` of a group, so that a pod of the same name may come and go.

Pods whose group is not there may have to wait for it, as the coscheduling plugin has it, which
denies such a pod its node. They are then a workload of the group's name; what of them runs is
charged to the quota of its namespace, as every pod is.
"""

from collections.abc import Iterable, Sequence, Set
from typing import Final, NamedTuple

import msgspec

from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.core.core_objects import full_name
from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import PLUGIN_SCHEDULERS, PluginPodGroupObject, PodObject
from fairlead.manifest.text.path import quote
from fairlead.model.axes import WorkloadName
from fairlead.model.workload import Obstacle
from fairlead.policy.obstacles import OTHER_SCHEDULER, POD_GROUP_NOT_FOUND

GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that start together, by name; a pod without a group is a gang of one."""

    name: WorkloadName
    namespace: str
    pods: tuple[PodObject, ...]
    group: PluginPodGroupObject | None = None
    obstacle: Obstacle | None = None  # why it cannot start

    @property
    def min_count(self) -> int:
        """How many of the pods must start together, which may be more than there are."""
        return self.group.min_member if self.group else 1


class _Named(NamedTuple):
    """The group that a pod names, and in which label."""

    namespace: str
    name: str
    label: str


def gangs_of(
    pods: Iterable[PodObject],
    groups: Iterable[PluginPodGroupObject],
    findings: Findings,
    rules: AssemblyRules = OF_FILES,
    *,
    schedulers: Set[str] = PLUGIN_SCHEDULERS,
) -> list[Gang]:
    """Return every live pod in exactly one gang, sorted by the gang's name.

    A pod whose group is not in the input is told of, and stands on its own or waits for its group,
    as *rules* say. A pod of another scheduler than *schedulers* stands on its own, whatever group
    it names: no other pod starts with it.
    """
    known = {(group.namespace, group.name): group for group in groups}
    members: dict[tuple[str, str], list[PodObject]] = {}
    lone: list[PodObject] = []
    for pod in pods:
        if not is_live(pod):
            continue
        named = _group_of(pod) if pod.scheduler in schedulers else None
        is_missing = named is not None and named[:2] not in known
        if named is not None and is_missing:
            _warn_of_missing(pod, named, rules, findings)
        if named is None or (is_missing and rules.missing_group == "alone"):
            lone.append(pod)
        else:
            members.setdefault(named[:2], []).append(pod)
    found = [
        *(_lone_gang(pod, schedulers) for pod in lone),
        *(_gang(*key, known.get(key), own) for key, own in members.items()),
    ]
    return sorted(found, key=lambda gang: gang.name)


def _group_of(pod: PodObject) -> _Named | None:
    for label in GROUP_LABELS:
        name = pod.labels.get(label, "")
        if name:
            return _Named(pod.namespace, name, label)
    return None


def _warn_of_missing(
    pod: PodObject, named: _Named, rules: AssemblyRules, findings: Findings
) -> None:
    consequence = "stands alone" if rules.missing_group == "alone" else "waits for it"
    pod.source.report(
        findings,
        "warning",
        "missing-reference",
        ("metadata", "labels", named.label),
        f"found the group {quote(named.name)}, which is not in the input; the pod {consequence}",
        f"add the PodGroup {named.name} in namespace {named.namespace}",
    )


def _lone_gang(pod: PodObject, schedulers: Set[str]) -> Gang:
    obstacle = None
    if pod.scheduler not in schedulers:
        obstacle = Obstacle(code=OTHER_SCHEDULER, names=(pod.scheduler,))
    name = WorkloadName(full_name(pod))
    return Gang(name=name, namespace=pod.namespace, pods=(pod,), obstacle=obstacle)


def _gang(
    namespace: str, name: str, group: PluginPodGroupObject | None, pods: Sequence[PodObject]
) -> Gang:
    obstacle = None
    if group is None:
        obstacle = Obstacle(code=POD_GROUP_NOT_FOUND, names=(f"{namespace}/{name}",))
    return Gang(
        name=WorkloadName(f"{namespace}/podgroup/{name}"),  # no pod has a slash in its name
        namespace=namespace,
        pods=tuple(sorted(pods, key=lambda pod: pod.name)),
        group=group,
        obstacle=obstacle,
    )
