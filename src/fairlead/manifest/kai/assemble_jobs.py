"""Which pods are KAI's, and which of them form one job.

A pod belongs to the PodGroup of its namespace that it names. One without a group is a job of its
own if it names KAI's scheduler. The rest are other schedulers' pods: they only take space.

Pods whose group is not there may have to wait for it. They are then a job of the group's name, in
no queue, as KAI has it: they ask for nothing, and what of them runs takes space and is charged to
no queue.

A job's name depends on nothing but its own object: ``namespace/name`` of a PodGroup, and always
``namespace/pod/name`` of a pod on its own, so that a group of the same name may come and go.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.core.core_objects import full_name
from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.core.tree_checks import refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assemble_foreign_devices import RESERVATION_NAMESPACES
from fairlead.manifest.kai.node_pool import NodePool
from fairlead.manifest.kai.read_pod_group import labelled_queue
from fairlead.manifest.objects import KaiPodGroupObject, PodObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote

GROUP_NAME: Final = "pod-group-name"  # a label or an annotation
SUB_GROUP_LABEL: Final = "kai.scheduler/subgroup-name"
SCHEDULER: Final = "kai-scheduler"
DEFAULT_QUEUE: Final = "default-queue"  # KAI's, for a pod that names none


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are scheduled as one, by name; without a group it is one pod, unless it waits."""

    name: str
    source: Source
    queue: str
    queue_path: Path  # where in the object the queue is named, or would be
    is_queue_named: bool = True  # else KAI's default counts
    group: KaiPodGroupObject | None
    is_group_missing: bool = False  # its pods name one that is not there, and wait for it
    pods: tuple[PodObject, ...]
    has_succeeded_pods: bool = False  # these are not among its pods any more


class Sorted(msgspec.Struct, frozen=True, kw_only=True):
    """All live pods: in jobs by name, or foreign; among those, jobs of KAI in other pools."""

    jobs: tuple[Job, ...]
    foreign: tuple[PodObject, ...]
    in_other_pools: tuple[str, ...]  # names of jobs


def sort_pods(
    pods: Mapping[str, PodObject],
    groups: Sequence[KaiPodGroupObject],
    pool: NodePool,
    findings: Findings,
    rules: AssemblyRules = OF_FILES,
) -> Sorted:
    """Put every live pod of *pods*, by full name, where it belongs.

    Finished pods, and those that leave before they got a node, are gone. Jobs of other pools than
    *pool* are other schedulers'. Cost: one look at each, and sorting.
    """
    unique = refuse_duplicates(groups, full_name, "PodGroup", findings)
    by_name = {full_name(group): group for group in unique}
    members: dict[str, list[PodObject]] = {name: [] for name in by_name}
    missing: dict[str, list[PodObject]] = {}
    alone: list[PodObject] = []
    foreign: list[PodObject] = []
    for pod in pods.values():
        group = _group_name(pod)
        if group in members:
            members[group].append(pod)
        elif _is_ours(pod):
            if group:
                _warn_about_group(pod, rules, findings)
            if group and rules.missing_group == "waits":
                missing.setdefault(group, []).append(pod)
            else:
                alone.append(pod)
        else:
            _warn_about_queue(pod, findings)
            foreign.append(pod)
    _warn_about_empty_groups(by_name, members, findings)
    jobs = [
        *(
            _group_job(by_name[name], own)
            for name, own in members.items()
            if any(map(is_live, own))
        ),
        *(_waiting_job(name, own) for name, own in missing.items() if any(map(is_live, own))),
        *(_pod_job(pod) for pod in alone if is_live(pod)),
    ]
    jobs.sort(key=lambda each: each.name)
    others = [job for job in jobs if not pool.has(_labels(job))]
    return Sorted(
        jobs=tuple(job for job in jobs if pool.has(_labels(job))),
        foreign=(*filter(is_live, foreign), *(pod for job in others for pod in job.pods)),
        in_other_pools=tuple(job.name for job in others),
    )


def _labels(job: Job) -> Mapping[str, str]:
    return job.group.labels if job.group else job.pods[0].labels


def _group_name(pod: PodObject) -> str:
    name = pod.annotations.get(GROUP_NAME) or pod.labels.get(GROUP_NAME)
    return f"{pod.namespace}/{name}" if name else ""


def _is_ours(pod: PodObject) -> bool:
    return pod.scheduler == SCHEDULER and pod.namespace not in RESERVATION_NAMESPACES


def _group_job(group: KaiPodGroupObject, pods: Sequence[PodObject]) -> Job:
    return Job(
        name=full_name(group),
        source=group.source,
        queue=group.queue,
        queue_path=group.queue_path,
        group=group,
        pods=tuple(filter(is_live, pods)),
        has_succeeded_pods=any(pod.phase == "Succeeded" for pod in pods),
    )


def _waiting_job(group: str, pods: Sequence[PodObject]) -> Job:
    live = tuple(filter(is_live, pods))
    return Job(
        name=group,
        source=live[0].source,
        queue="",
        queue_path=_group_path(live[0]),
        group=None,
        is_group_missing=True,
        pods=live,
    )


def _pod_job(pod: PodObject) -> Job:
    queue, queue_path = labelled_queue(pod.labels)
    return Job(
        name=f"{pod.namespace}/pod/{pod.name}",  # no PodGroup has it: none has a slash in its name
        source=pod.source,
        queue=queue or DEFAULT_QUEUE,
        queue_path=queue_path,
        is_queue_named=queue != "",
        group=None,
        pods=(pod,),
    )


def _group_path(pod: PodObject) -> Path:
    kind = "annotations" if pod.annotations.get(GROUP_NAME) else "labels"
    return ("metadata", kind, GROUP_NAME)


def _warn_about_group(pod: PodObject, rules: AssemblyRules, findings: Findings) -> None:
    is_waiting = rules.missing_group == "waits"
    pod.source.report(
        findings,
        "warning",
        "missing-reference",
        _group_path(pod),
        f"found the PodGroup {quote(_group_name(pod))}, which is not in the input; "
        f"the pod {'waits for it' if is_waiting else 'is taken as a job of its own'}",
        "add the PodGroup",
    )


def _warn_about_queue(pod: PodObject, findings: Findings) -> None:
    """Tell of a pod that somebody may believe to be KAI's: it has a queue, and is another's."""
    queue, place = labelled_queue(pod.labels)
    if queue and is_live(pod) and pod.namespace not in RESERVATION_NAMESPACES:
        message = f"found the queue {quote(queue)} on a pod of the scheduler {quote(pod.scheduler)}"
        message += f"; KAI's is {SCHEDULER}, so that it is no job and only takes space"
        fix = f"write schedulerName: {SCHEDULER}, or remove the label"
        pod.source.report(findings, "warning", "no-effect", place, message, fix)


def _warn_about_empty_groups(
    groups: Mapping[str, KaiPodGroupObject],
    members: Mapping[str, Sequence[PodObject]],
    findings: Findings,
) -> None:
    for name in sorted(groups):
        if not members[name]:
            groups[name].source.report(
                findings,
                "warning",
                "missing-reference",
                ("metadata", "name"),
                f"found the PodGroup {quote(name)} without a pod; it asks for nothing",
                f"add its pods, each with the annotation {GROUP_NAME}",
            )
