"""From the pods of a job to its workload, with the places of the pods that run."""

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import PodObject, is_gated, pod_id
from fairlead.manifest.core.pod_sets import alike, common_labels, observed_places, own_start_ms
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.jobs import SUB_GROUP_LABEL, Job
from fairlead.manifest.kai.assembly.priority import KaiPriorities, is_preemptible
from fairlead.manifest.kai.notation import MIG, mig_devices
from fairlead.manifest.kai.reading.pod_group import PREEMPTIBILITIES, least_pods
from fairlead.manifest.text.path import quote
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.memory import KaiMemory
from fairlead.model.workload import KaiJob, Obstacle, PodConstraints, PodSet, PodSets, Workload
from fairlead.policy.obstacles import POD_GROUP_NOT_FOUND

PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
START_ORDER_LABELS = ("kai.scheduler/task-priority", "run.ai/task-priority")  # new name, old name
TOPOLOGY = "topologyConstraint"

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


class KaiWorkload:
    """A job as a workload: pods that are alike form a set, sets and pods in the order of names.

    Labels do not make pods different, since jobs number their pods in them, unless some pod's
    affinity looks at them; a set has those that all of its pods share.
    """

    def __init__(
        self,
        job: Job,
        priorities: KaiPriorities,
        findings: Findings,
        *,
        labels_looked_at: frozenset[str],
    ) -> None:
        """Sort the pods of *job* into sets; what is odd about them becomes findings."""
        self.job = job
        self._findings = findings
        self._minimums = {
            each.name: each.min_member or 0 for each in (job.group.sub_groups if job.group else ())
        }
        self._start_orders = {pod.name: self._start_order(pod) for pod in job.pods}
        self._sets = alike(job.pods, also=self._own_place, labels=labels_looked_at)
        self._sub_groups = [self._sub_group(pods[0]) for pods in self._sets]
        self._members = Counter[str]()
        for name, pods in zip(self._sub_groups, self._sets, strict=True):
            self._members[name] += len(pods)
        self._warn_of_minimum()
        self._warn_of_slices()
        self._priority = self._read_priority(priorities)
        self._preemptible = is_preemptible(self._priority, self._preemptibility())

    def observed(
        self, resources: tuple[str, ...], shares: Mapping[str, DeviceShare]
    ) -> ObservedWorkload:
        """Return the workload as its objects show it, with amounts on *resources*.

        *shares* are the devices of the pods that share some, by full name.
        """
        group = self.job.group
        stale_since_ms = group.stale_since_ms if group else None
        return ObservedWorkload(
            workload=self.workload(resources),
            places=observed_places(self._sets, self._started_ms, shares),
            memory=None if stale_since_ms is None else KaiMemory(stale_since_ms=stale_since_ms),
        )

    def workload(self, resources: tuple[str, ...]) -> Workload:
        """Return what the pods want together."""
        group = self.job.group
        oldest_ms = min(pod.created_ms for pod in self.job.pods)
        return Workload(
            name=WorkloadName(self.job.name),
            namespace=self.job.pods[0].namespace,
            queue=QueueName(self.job.queue),
            pod_sets=PodSets(self._pod_set(at, resources) for at in range(len(self._sets))),
            min_count=group.min_member if group else 1,
            priority=self._priority,
            preemptible=self._preemptible,
            active=not self.job.is_group_missing,
            obstacle=self._obstacle(),
            created_ms=(group.created_ms if group else 0) or oldest_ms,
            extension=KaiJob(
                sub_groups=group.sub_groups if group else (),
                min_sub_group=group.min_sub_group if group else None,
                staleness_grace_ms=group.staleness_grace_ms if group else None,
                preemption_delay_ms=group.preemption_delay_ms if group else 0,
                has_succeeded_pods=self.job.has_succeeded_pods,
            ),
        )

    def _obstacle(self) -> Obstacle | None:
        if not self.job.is_group_missing:
            return None
        return Obstacle(code=POD_GROUP_NOT_FOUND, names=(self.job.name,))

    def _read_priority(self, priorities: KaiPriorities) -> int:
        group = self.job.group
        if group is None:
            return priorities.of_pod(self.job.pods[0], self._findings)
        return priorities.of_group(group, self.job.pods, self._findings)

    def _preemptibility(self) -> str:
        if self.job.group is not None:
            return self.job.group.preemptibility
        pod = self.job.pods[0]
        text = pod.labels.get(PREEMPTIBILITY_LABEL, "")
        if text in PREEMPTIBILITIES:
            return text
        self._warn(
            pod,
            PREEMPTIBILITY_LABEL,
            "bad-choice",
            f"found {quote(text)}, expected preemptible or non-preemptible; it is left out",
            "write preemptible or non-preemptible",
        )
        return ""

    def _own_place(self, pod: PodObject) -> tuple[str, int | None]:
        """Return what sets a pod apart in its job: its sub-group, and when it is to start."""
        sub_group = pod.labels.get(SUB_GROUP_LABEL, "") if self._minimums else ""
        return sub_group, self._start_orders[pod.name]

    def _start_order(self, pod: PodObject) -> int | None:
        """Return the number by which a pod starts before others of its job, or after them."""
        label = next((label for label in START_ORDER_LABELS if label in pod.labels), None)
        if label is None:
            return None
        text = pod.labels[label]
        if _WHOLE_NUMBER.fullmatch(text):
            return int(text)
        message = f"found {quote(text)}, expected a whole number; it is left out"
        self._warn(pod, label, "wrong-type", message, 'write a number such as "1"')
        return None

    def _sub_group(self, pod: PodObject) -> str:
        name = pod.labels.get(SUB_GROUP_LABEL, "")
        if not name or name in self._minimums:
            return name
        self._warn(
            pod,
            SUB_GROUP_LABEL,
            "missing-reference",
            f"found the sub-group {quote(name)}, which its PodGroup does not list; the pod counts "
            "as one in no sub-group",
            "correct the name, or add it to subGroups",
        )
        return ""

    def _warn_of_minimum(self) -> None:
        """Report a minimum for all pods that differs from the sub-groups', which decide."""
        group = self.job.group
        if group is None or not group.sub_groups:
            return
        least = least_pods(group.sub_groups, group.min_sub_group)
        is_met_by_others = group.min_member > least and self._members[""] > 0
        if group.min_member == least or is_met_by_others:
            return
        message = f"found the number {group.min_member}, but the sub-groups need {least}; "
        message += "the job starts with what they need"
        fix = f"write {least}, remove it, or change the minimums of the sub-groups"
        place = ("spec", "minMember")
        group.source.report(self._findings, "warning", "contradiction", place, message, fix)

    def _warn_of_slices(self) -> None:
        """Report slices of GPUs that count for none, because their names say no size."""
        for pod in [pods[0] for pods in self._sets]:
            for name, amount in pod.requests.items():
                if amount and name.startswith(MIG) and mig_devices(name) is None:
                    message = f"found a request for {quote(name)}, which counts for no GPU of the "
                    message += "queue: its name has no size such as 1g.5gb"
                    fix = "correct the name of the resource"
                    pod.source.warn(self._findings, "bad-name", ("spec",), message, fix)

    def _pod_set(self, at: int, resources: tuple[str, ...]) -> PodSet:
        pods, sub_group = self._sets[at], self._sub_groups[at]
        first = pods[0]
        elsewhere = self._members[sub_group] - len(pods)
        return PodSet(
            name=first.name,
            count=len(pods),
            min_count=max(0, self._minimums.get(sub_group, 0) - elsewhere),
            requests=amounts_on(resources, first.requests),
            pod_ids=tuple(map(pod_id, pods)),
            pod_names=tuple(pod.name for pod in pods),
            labels=common_labels(pods),
            constraints=self._constraints(first),
            gpu_share=first.gpu_share,
            gated=is_gated(first),
            sub_group=sub_group,
            start_order=self._start_orders[first.name],
        )

    def _constraints(self, pod: PodObject) -> PodConstraints:
        group = self.job.group
        if group is None or not group.topology:
            return pod.constraints
        unsupported = tuple(sorted({*pod.constraints.unsupported, TOPOLOGY}))
        return msgspec.structs.replace(pod.constraints, unsupported=unsupported)

    def _started_ms(self, pod: PodObject) -> int:
        """Return when a pod started: with its group, where KAI wrote that down."""
        group = self.job.group
        with_group_ms = group.started_ms if group else None
        return own_start_ms(pod) if with_group_ms is None else with_group_ms

    def _warn(self, pod: PodObject, label: str, code: str, message: str, fix: str) -> None:
        place = ("metadata", "labels", label)
        pod.source.warn(self._findings, code, place, message, fix)
