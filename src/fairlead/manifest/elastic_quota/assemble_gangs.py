"""Which pods form one workload under an ElasticQuota: a pod group's, or a pod on its own.

A workload's name depends on nothing but its own object: ``namespace/name`` of a pod on its own,
and always ``namespace/podgroup/name`` of a group, so that a pod of the same name may come and go.

Pods whose group is not there may have to wait for it, as the coscheduling plugin has it, which
denies such a pod its node. They are then a workload of the group's name; what of them runs is
charged to the quota of its namespace, as every pod is.
"""

from collections.abc import Sequence, Set
from typing import Final

import msgspec

from fairlead.manifest.core.objects import PodObject, full_name, is_live
from fairlead.manifest.elastic_quota.objects import PluginPodGroupObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.path import quote
from fairlead.manifest.translate.family import NOTHING, UnitContent
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


def named_group(pod: PodObject, schedulers: Set[str]) -> str:
    """Return the full name of the PodGroup with which a pod starts; "": none.

    No pod starts together with one of another scheduler than *schedulers*.
    """
    label = _group_label(pod) if pod.scheduler in schedulers else ""
    return f"{pod.namespace}/{pod.labels[label]}" if label else ""


def group_gang(group: PluginPodGroupObject, pods: Sequence[PodObject]) -> UnitContent[Gang]:
    """Return the gang of a PodGroup with *pods*, by name; none if all of them are gone."""
    live = tuple(filter(is_live, pods))
    if not live:
        return NOTHING
    gang = Gang(
        name=_group_workload(full_name(group)), namespace=group.namespace, pods=live, group=group
    )
    return UnitContent(parts=(gang,))


def gangs_without_group(
    pods: Sequence[PodObject], group: str, schedulers: Set[str], findings: Findings, *, waits: bool
) -> UnitContent[Gang]:
    """Return the gangs of live *pods* that name no *group* (""), or one that is not there.

    Reports a missing group. Each pod then stands on its own, or all pods wait for the group.
    """
    live = tuple(filter(is_live, pods))
    for pod in live if group else ():
        _warn_of_missing(pod, findings, waits=waits)
    if not (group and waits and live):
        return UnitContent(parts=tuple([_lone_gang(pod, schedulers) for pod in live]))
    gang = Gang(
        name=_group_workload(group),
        namespace=live[0].namespace,
        pods=live,
        obstacle=Obstacle(code=POD_GROUP_NOT_FOUND, names=(group,)),
    )
    return UnitContent(parts=(gang,))


def _group_label(pod: PodObject) -> str:
    return next((label for label in GROUP_LABELS if pod.labels.get(label)), "")


def _group_workload(group: str) -> WorkloadName:
    namespace, _, name = group.partition("/")
    return WorkloadName(f"{namespace}/podgroup/{name}")  # no pod has a slash in its name


def _warn_of_missing(pod: PodObject, findings: Findings, *, waits: bool) -> None:
    label = _group_label(pod)
    group = pod.labels[label]
    pod.source.report(
        findings,
        "warning",
        "missing-reference",
        ("metadata", "labels", label),
        f"found the group {quote(group)}, which is not in the input; "
        f"the pod {'waits for it' if waits else 'stands alone'}",
        f"add the PodGroup {group} in namespace {pod.namespace}",
    )


def _lone_gang(pod: PodObject, schedulers: Set[str]) -> Gang:
    obstacle = None
    if pod.scheduler not in schedulers:
        obstacle = Obstacle(code=OTHER_SCHEDULER, names=(pod.scheduler,))
    name = WorkloadName(full_name(pod))
    return Gang(name=name, namespace=pod.namespace, pods=(pod,), obstacle=obstacle)
