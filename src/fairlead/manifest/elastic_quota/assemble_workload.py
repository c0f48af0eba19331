"""Which pods form one workload under an ElasticQuota, and what it is.

The pods of a group are a gang, and so is a pod on its own. A workload's name depends on nothing but
its own object: ``namespace/name`` of a pod on its own, and always ``namespace/podgroup/name`` of a
group, so that a pod of the same name may come and go.

Pods whose group is not there may have to wait for it, as the coscheduling plugin has it, which
denies such a pod its node. They are then a workload of the group's name; what of them runs is
charged to the quota of its namespace, as every pod is.
"""

from collections.abc import Sequence, Set
from typing import Final

import msgspec

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import (
    ByResource,
    PodObject,
    full_name,
    is_gated,
    is_live,
    is_placed,
    pod_id,
)
from fairlead.manifest.core.pod_sets import Labels, alike, observed_places, own_start_ms, pods_by_id
from fairlead.manifest.core.priorities import Importance, Priorities
from fairlead.manifest.core.read_pod_spec import PreemptionPolicy
from fairlead.manifest.elastic_quota.objects import PluginPodGroupObject
from fairlead.manifest.elastic_quota.read_quota import is_counted
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.translate.family import NOTHING, UnitContent
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.memory import ElasticMemory, is_empty
from fairlead.model.workload import ElasticPods, Obstacle, PodSet, PodSets, Workload
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
    pod.source.warn(
        findings,
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


class ElasticWorkload:
    """A gang as a workload: pods that are alike form a set, sets and pods in the order of names."""

    def __init__(
        self,
        gang: Gang,
        resources: tuple[str, ...],
        priorities: Priorities,
        findings: Findings,
    ) -> None:
        """Sort the pods of *gang* into sets, with amounts on *resources*."""
        self._gang = gang
        self._resources = resources
        self._importance = [priorities.of(pod, findings) for pod in gang.pods]
        _warn_of_unequal_priorities(gang, [each.priority for each in self._importance], findings)
        self._sets = alike(gang.pods, also=_likeness)

    def observed(self) -> ObservedWorkload:
        """Return the workload as its objects show it."""
        memory = self._memory()
        return ObservedWorkload(
            workload=self.workload(),
            places=observed_places(self._sets, own_start_ms),
            memory=None if is_empty(memory) else memory,
        )

    def workload(self) -> Workload:
        """Return what the pods want together. It has the highest priority of its pods."""
        gang = self._gang
        created_ms = min(pod.created_ms for pod in gang.pods)
        return Workload(
            name=gang.name,
            namespace=gang.namespace,
            queue=QueueName(gang.namespace),
            pod_sets=PodSets(self._pod_set(pods) for pods in self._sets),
            min_count=gang.min_count,
            priority=max(each.priority for each in self._importance),
            active=gang.obstacle is None,
            obstacle=gang.obstacle,
            created_ms=(gang.group.created_ms if gang.group else 0) or created_ms,
            extension=self._extension(),
        )

    def _pod_set(self, pods: list[PodObject]) -> PodSet:
        first = pods[0]
        elsewhere = len(self._gang.pods) - len(pods)
        return PodSet(
            name=first.name,
            count=len(pods),
            min_count=max(0, self._gang.min_count - elsewhere),
            requests=amounts_on(self._resources, first.requests),
            pod_ids=tuple(map(pod_id, pods)),
            pod_names=tuple(pod.name for pod in pods),
            labels=_labels(first),
            constraints=first.constraints,
            gated=is_gated(first),
        )

    def _extension(self) -> ElasticPods:
        group = self._gang.group
        least = group.min_resources if group else None
        return ElasticPods(
            preemption_policy=_preemption_policy(self._importance),
            min_resources=None if least is None else amounts_on(self._resources, least),
            schedule_timeout_s=group.schedule_timeout_s if group else None,
            plugin_requests=plugin_charges([pods[0] for pods in self._sets]),
            not_running=frozenset(
                pod
                for pod, own in pods_by_id(self._sets)
                if is_placed(own) and own.phase != "Running"
            ),
        )

    def _memory(self) -> ElasticMemory:
        """Return what the pods and their group record of earlier decisions."""
        group = self._gang.group
        nominated = {
            pod: own.nominated_node
            for pod, own in pods_by_id(self._sets)
            if own.nominated_node is not None and not is_placed(own)
        }
        since_ms = group.schedule_started_ms if group and nominated else None
        return ElasticMemory(nominated=nominated, nominated_ms=since_ms)


def _likeness(pod: PodObject) -> object:
    own = pod.plugin_requests
    return _labels(pod), None if own is None else tuple(sorted(own.items()))


def _labels(pod: PodObject) -> Labels:
    """Return what disruption budgets select pods by, so pods of one set share all of it."""
    return tuple(sorted(pod.labels.items()))


def _preemption_policy(importance: list[Importance]) -> PreemptionPolicy:
    """Return ``Never`` if one of the pods may not preempt: a gang starts as a whole."""
    is_never = any(each.preemption_policy == "Never" for each in importance)
    return "Never" if is_never else "PreemptLowerPriority"


def plugin_charges(pods: Sequence[PodObject]) -> tuple[dict[str, int], ...]:
    """Return what the plugin charges each of *pods*, by the resources that a quota counts.

    Empty if for all of them it is what their node is charged, and none is named with 0.
    """
    if all(pod.plugin_requests is None and 0 not in pod.requests.values() for pod in pods):
        return ()
    charges = tuple(_counted(_as_plugin(pod)) for pod in pods)
    is_same = charges == tuple(_counted(pod.requests) for pod in pods)
    return () if is_same and not any(0 in each.values() for each in charges) else charges


def _as_plugin(pod: PodObject) -> ByResource:
    return pod.requests if pod.plugin_requests is None else pod.plugin_requests


def _counted(amounts: ByResource) -> dict[str, int]:
    return {resource: amount for resource, amount in amounts.items() if is_counted(resource)}


def _warn_of_unequal_priorities(gang: Gang, priorities: Sequence[int], findings: Findings) -> None:
    """Report pods of a gang that differ in priority, *priorities* being those of its pods.

    They start together, so they are as important as the foremost of them.
    """
    highest, lowest = max(priorities), min(priorities)
    if gang.group is None or highest == lowest:
        return
    most, least = (gang.pods[priorities.index(each)] for each in (highest, lowest))
    least.source.warn(
        findings,
        "contradiction",
        _place_of_priority(least),
        f"found priority {lowest}, while {most.name} of the same PodGroup has {highest}; "
        f"all its pods count with {highest}",
        f"give all pods of {quote(gang.group.name)} the same priority",
    )


def _place_of_priority(pod: PodObject) -> Path:
    if pod.priority is not None:
        return ("spec", "priority")
    return ("spec", "priorityClassName") if pod.priority_class else ("spec",)
