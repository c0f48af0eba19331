"""From a job's pods to a workload, and the events that put its running pods in their places."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from fairlead.manifest.core.live_pods import is_gated, is_placed
from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assemble_jobs import SUB_GROUP_LABEL, Job
from fairlead.manifest.kai.assemble_priority import KaiPriorities, is_preemptible
from fairlead.manifest.kai.read_pod_group import PREEMPTIBILITIES
from fairlead.manifest.objects import PodObject
from fairlead.manifest.text.path import quote
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    Placement,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.workload import KaiJob, PodConstraints, PodId, PodSet, Workload

PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
TOPOLOGY = "topologyConstraint"


class KaiWorkload:
    """A job as a workload: pods that are alike form a set, sets and pods in the order of names."""

    def __init__(self, job: Job, priorities: KaiPriorities, findings: Findings) -> None:
        """Sort the pods of *job* into sets; what is odd about them becomes findings."""
        self.job = job
        self._findings = findings
        self._minimums = {
            each.name: each.min_member or 0 for each in (job.group.sub_groups if job.group else ())
        }
        self._sets = self._alike()
        self._sub_groups = [self._sub_group(pods[0]) for pods in self._sets]
        self._members = Counter[str]()
        for name, pods in zip(self._sub_groups, self._sets, strict=True):
            self._members[name] += len(pods)
        self._priority = self._read_priority(priorities)
        self._preemptible = is_preemptible(self._priority, self._preemptibility())

    def events(self, resources: tuple[str, ...]) -> Iterator[Event]:
        """Yield what happened to the workload so far, with amounts on *resources*."""
        workload = self.workload(resources)
        yield WorkloadAdded(workload)
        placed = [(pod, own) for pod, own in self._pods() if is_placed(own)]
        if not placed:
            return
        yield WorkloadStarted(
            workload=workload.name,
            placements=tuple(Placement(pod, own.node) for pod, own in placed),
            at_ms=self._started_ms([own for _, own in placed]),
        )
        leaving = tuple(pod for pod, own in placed if own.terminating)
        if leaving:
            yield WorkloadLeaving(workload=workload.name, pods=leaving)

    def workload(self, resources: tuple[str, ...]) -> Workload:
        """Return what the pods want together."""
        group = self.job.group
        oldest_ms = min(pod.created_ms for pod in self.job.pods)
        return Workload(
            name=WorkloadName(self.job.name),
            queue=QueueName(self.job.queue),
            pod_sets=tuple(self._pod_set(at, resources) for at in range(len(self._sets))),
            min_count=group.min_member if group else 1,
            priority=self._priority,
            preemptible=self._preemptible,
            created_ms=(group.created_ms if group else 0) or oldest_ms,
            extension=KaiJob(
                sub_groups=group.sub_groups if group else (),
                staleness_grace_ms=group.staleness_grace_ms if group else None,
                preemption_delay_ms=group.preemption_delay_ms if group else 0,
            ),
        )

    def _read_priority(self, priorities: KaiPriorities) -> int:
        group = self.job.group
        if group is None:
            return priorities.of_pod(self.job.pods[0])
        return priorities.of_group(group, self.job.pods)

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

    def _alike(self) -> list[list[PodObject]]:
        """Return the pods in sets of those that differ in nothing that scheduling looks at."""
        sets: dict[object, list[PodObject]] = {}
        for pod in self.job.pods:
            likeness = (
                pod.labels.get(SUB_GROUP_LABEL, "") if self._minimums else "",
                tuple(sorted(pod.requests.items())),
                pod.constraints,
                pod.gpu_share,
                is_gated(pod),
            )
            sets.setdefault(likeness, []).append(pod)
        return list(sets.values())

    def _sub_group(self, pod: PodObject) -> str:
        name = pod.labels.get(SUB_GROUP_LABEL, "")
        if not name or name in self._minimums:
            return name
        self._warn(
            pod,
            SUB_GROUP_LABEL,
            "missing-reference",
            f"found the sub-group {quote(name)}, which its PodGroup does not list; it is left out",
            "correct the name, or add it to subGroups",
        )
        return ""

    def _pod_set(self, at: int, resources: tuple[str, ...]) -> PodSet:
        pods, sub_group = self._sets[at], self._sub_groups[at]
        first = pods[0]
        elsewhere = self._members[sub_group] - len(pods)
        return PodSet(
            name=first.name,
            count=len(pods),
            min_count=max(0, self._minimums.get(sub_group, 0) - elsewhere),
            requests=amounts_on(resources, first.requests),
            pod_names=tuple(pod.name for pod in pods),
            constraints=self._constraints(first),
            gpu_share=first.gpu_share,
            gated=is_gated(first),
            sub_group=sub_group,
        )

    def _constraints(self, pod: PodObject) -> PodConstraints:
        group = self.job.group
        if group is None or not group.topology:
            return pod.constraints
        unsupported = (*pod.constraints.unsupported, TOPOLOGY)
        return msgspec.structs.replace(pod.constraints, unsupported=unsupported)

    def _pods(self) -> Iterator[tuple[PodId, PodObject]]:
        for at, pods in enumerate(self._sets):
            for ordinal, pod in enumerate(pods):
                yield PodId(at, ordinal), pod

    def _started_ms(self, placed: list[PodObject]) -> int:
        group = self.job.group
        if group is not None and group.started_ms is not None:
            return group.started_ms
        return min(pod.created_ms if pod.started_ms is None else pod.started_ms for pod in placed)

    def _warn(self, pod: PodObject, label: str, code: str, message: str, fix: str) -> None:
        place = ("metadata", "labels", label)
        pod.source.report(self._findings, "warning", code, place, message, fix)
