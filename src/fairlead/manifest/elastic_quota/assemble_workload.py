"""From a gang of pods to its workload, with the places of the pods that run."""

from collections.abc import Sequence

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import ByResource, PodObject, is_gated, is_placed, pod_id
from fairlead.manifest.core.pod_sets import Labels, alike, observed_places, own_start_ms, pods_by_id
from fairlead.manifest.core.priorities import Importance, Priorities
from fairlead.manifest.core.read_pod_spec import PreemptionPolicy
from fairlead.manifest.elastic_quota.assemble_checks import warn_of_unequal_priorities
from fairlead.manifest.elastic_quota.assemble_gangs import Gang
from fairlead.manifest.elastic_quota.read_quota import is_counted
from fairlead.manifest.finding import Findings
from fairlead.model.axes import QueueName
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.memory import ElasticMemory, is_empty
from fairlead.model.workload import ElasticPods, PodSet, PodSets, Workload


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
        warn_of_unequal_priorities(gang, [each.priority for each in self._importance], findings)
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
