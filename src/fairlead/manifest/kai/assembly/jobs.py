"""Which nodes and pods are a shard's, and which pods form one job.

KAI runs one scheduler per shard, and each sees only what carries the label of its pool. A shard
without a label value is for everything that is in no pool.

A pod belongs to the PodGroup of its namespace that it names. One without a group is a job of its
own if it names KAI's scheduler. The rest are other schedulers' pods: they only take space.

Pods whose group is not there may have to wait for it. They are then a job of the group's name, in
no queue, as KAI has it: they ask for nothing, and what of them runs takes space and is charged to
no queue.

A job's name depends on nothing but its own object: ``namespace/name`` of a PodGroup, and always
``namespace/pod/name`` of a pod on its own, so that a group of the same name may come and go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.manifest.core.objects import NodeObject, PodObject, full_name, is_live
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import (
    USUAL_NAMES,
    KaiNames,
    KaiPodGroupObject,
    KaiQueueObject,
    KaiShardObject,
)
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.translate.family import NOTHING, AssemblyRules, UnitContent
from fairlead.policy.kai.settings import KaiSettings


class NodePool:
    """The pool of one shard; without a shard in the input, everything belongs to it."""

    def __init__(
        self,
        shard: KaiShardObject | None,
        names: KaiNames = USUAL_NAMES,
        others: Sequence[KaiShardObject] = (),
    ) -> None:
        """Take the pool of *shard*, whose label is among *names*.

        *others* are the shards that have states of their own, this one among them.
        """
        self.settings = shard.settings if shard else KaiSettings()
        self.shard = shard
        self.names = names
        self.others = others

    def has(self, labels: Mapping[str, str]) -> bool:
        """Return whether what has these labels belongs to the pool."""
        return self.shard is None or self._named(labels) == self.settings.node_pool

    def is_same(self, other: "NodePool") -> bool:
        """Return whether both are of one shard, and take the same objects."""
        return (self.shard, self.names, self.others) == (other.shard, other.names, other.others)

    def is_left_out(self, labels: Mapping[str, str]) -> bool:
        """Return whether what has these labels belongs to no shard that has a state."""
        pools = [each.settings.node_pool for each in self.others]
        return not self.has(labels) and self._named(labels) not in pools

    def _named(self, labels: Mapping[str, str]) -> str:
        return labels.get(self.names.pool_label, "")

    def report_left_out(
        self,
        nodes: Sequence[NodeObject],
        queues: Sequence[KaiQueueObject],
        jobs: Sequence[str],
        findings: Findings,
    ) -> None:
        """Report once how many of all *nodes* and *queues*, and which *jobs*, are left out."""
        others = [node for node in nodes if self.is_left_out(node.labels)]
        strange = [queue for queue in queues if self.is_left_out(queue.labels)]
        if self.shard is None or not (others or strange or jobs):
            return
        told_at = self.shard
        counts = _counted(len(others), "node")
        counts += f", {_counted(len(strange), 'queue')}" if strange else ""
        counts += f" and {_counted(len(jobs), 'job')}"
        counts += f" ({_names(jobs)})" if jobs else ""
        if len(self.others) > 1:
            told_at = self.others[0]  # the same for each of them
            message = f"{counts} belong to pools without a shard in the input and are left out"
            fix = "add the shard of each pool, or no shard to see all pools"
        else:
            pool = self.settings.node_pool
            own = f"the shard of the pool {quote(pool)}" if pool else "the default shard"
            message = f"{own}: {counts} belong to other pools and are left out"
            fix = "name the shard of each pool, or no shard to see all pools"
        if nodes and len(others) == len(nodes):
            message += "; no node of the input is left, so nothing can run"
        path = ("spec", "partitionLabelValue")
        told_at.source.warn(findings, "no-effect", path, message, fix)


def one_per_pool(shards: Iterable[KaiShardObject]) -> list[KaiShardObject]:
    """Return the first shard of each pool by name, and before them that of no pool."""
    firsts: dict[str, KaiShardObject] = {}
    for each in sorted(shards, key=lambda each: (each.settings.node_pool != "", each.name)):
        firsts.setdefault(each.settings.node_pool, each)
    return list(firsts.values())


def choose_pool(
    shards: Sequence[KaiShardObject], name: str | None, names: KaiNames, findings: Findings
) -> NodePool:
    """Return the pool of the shard of this *name*; None: of the first of `one_per_pool`.

    One state has one set of rules. A shard that has no state of its own is reported.
    """
    if not shards:
        return NodePool(None, names)
    in_turn = one_per_pool(shards)
    if name is None:
        _report_others(in_turn[0], shards, findings)
        return NodePool(in_turn[0], names)
    for each in in_turn:
        same_pool = [
            other for other in shards if each.settings.node_pool == other.settings.node_pool
        ]
        _report_others(each, same_pool, findings)
    chosen = next(each for each in in_turn if each.name == name)
    return NodePool(chosen, names, in_turn)


def _report_others(
    chosen: KaiShardObject, shards: Sequence[KaiShardObject], findings: Findings
) -> None:
    for each in sorted(shards, key=lambda each: each.name):
        if each is not chosen:
            each.source.warn(
                findings,
                "no-effect",
                ("metadata", "name"),
                f"found another SchedulingShard; the settings and nodes of {quote(chosen.name)} "
                "count",
                "name one shard for each pool",
            )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(jobs: Sequence[str]) -> str:
    shown = [quote(name) for name in jobs[:MAX_SHOWN_NAMES]]
    if len(jobs) > MAX_SHOWN_NAMES:
        shown.append(f"{len(jobs) - MAX_SHOWN_NAMES} more")
    return ", ".join(shown)


GROUP_NAME: Final = "pod-group-name"  # a label or an annotation
SUB_GROUP_LABEL: Final = "kai.scheduler/subgroup-name"
RESERVATION_NAMESPACES: Final = frozenset({"kai-resource-reservation", "runai-reservation"})
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


def named_group(pod: PodObject) -> str:
    """Return the full name of the PodGroup that a pod names; "": none."""
    name = pod.annotations.get(GROUP_NAME) or pod.labels.get(GROUP_NAME)
    return f"{pod.namespace}/{name}" if name else ""


def sort_group(
    group: KaiPodGroupObject, pods: Sequence[PodObject], pool: NodePool
) -> UnitContent[Job]:
    """Return the job of a PodGroup, which has *pods*, by name; none if all of them are gone.

    Finished pods, and those that leave before they got a node, are gone. A job of another pool is
    another scheduler's.
    """
    if not any(map(is_live, pods)):
        return NOTHING
    return _in_pool([_group_job(group, pods, pool.names)], pool)


def sort_pods(
    pods: Sequence[PodObject],
    group: str,
    pool: NodePool,
    findings: Findings,
    rules: AssemblyRules,
) -> UnitContent[Job]:
    """Return the jobs of *pods* that name no *group* (""), or one that is not there."""
    live: list[PodObject] = []
    others: list[PodObject] = []
    for pod in pods:
        if not _is_ours(pod, pool.names):
            _warn_about_queue(pod, pool.names, findings)
        elif group:
            _warn_about_group(pod, rules, findings)
        if is_live(pod):
            (live if _is_ours(pod, pool.names) else others).append(pod)
    if not live:
        return UnitContent(foreign=tuple(others)) if others else NOTHING
    if group and rules.missing_group == "waits":
        found = _in_pool([_waiting_job(group, live)], pool)
    else:
        found = _in_pool([_pod_job(pod, pool.names) for pod in live], pool)
    return msgspec.structs.replace(found, foreign=(*others, *found.foreign))


def _in_pool(jobs: Sequence[Job], pool: NodePool) -> UnitContent[Job]:
    others = [job for job in jobs if not pool.has(_labels(job))]
    return UnitContent(
        parts=tuple(job for job in jobs if pool.has(_labels(job))),
        foreign=tuple(pod for job in others for pod in job.pods),
        in_other_pools=tuple(job.name for job in others if pool.is_left_out(_labels(job))),
    )


def _labels(job: Job) -> Mapping[str, str]:
    return job.group.labels if job.group else job.pods[0].labels


def _is_ours(pod: PodObject, names: KaiNames) -> bool:
    return pod.scheduler == names.scheduler and pod.namespace not in RESERVATION_NAMESPACES


def _group_job(group: KaiPodGroupObject, pods: Sequence[PodObject], names: KaiNames) -> Job:
    named: tuple[str, Path] = (group.queue, ("spec", "queue"))
    labelled = names.labelled_queue(group.labels)
    is_labelled = (bool(labelled[0]) and not group.queue) or not group.is_queue_named
    queue, queue_path = (labelled[0] or group.queue, labelled[1]) if is_labelled else named
    return Job(
        name=full_name(group),
        source=group.source,
        queue=queue,
        queue_path=queue_path,
        is_queue_named=group.is_queue_named,
        group=group,
        pods=tuple(filter(is_live, pods)),
        has_succeeded_pods=any(pod.phase == "Succeeded" for pod in pods),
    )


def _waiting_job(group: str, pods: Sequence[PodObject]) -> Job:
    namespace, _, name = group.partition("/")
    # The annotation is not checked, and "pod/x" must not be taken for the pod x.
    is_possible = "/" not in name
    return Job(
        name=group if is_possible else f"{namespace}/podgroup/{name}",
        source=pods[0].source,
        queue="",
        queue_path=_group_path(pods[0]),
        group=None,
        is_group_missing=True,
        pods=tuple(pods),
    )


def _pod_job(pod: PodObject, names: KaiNames) -> Job:
    queue, queue_path = names.labelled_queue(pod.labels)
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
    pod.source.warn(
        findings,
        "missing-reference",
        _group_path(pod),
        f"found the PodGroup {quote(named_group(pod))}, which is not in the input; "
        f"the pod {'waits for it' if is_waiting else 'is taken as a job of its own'}",
        "add the PodGroup",
    )


def _warn_about_queue(pod: PodObject, names: KaiNames, findings: Findings) -> None:
    """Report a pod that looks like a job of KAI, with a queue, and has another scheduler."""
    queue, place = names.labelled_queue(pod.labels)
    if queue and is_live(pod) and pod.namespace not in RESERVATION_NAMESPACES:
        message = f"found the queue {quote(queue)} on a pod of the scheduler {quote(pod.scheduler)}"
        message += (
            f"; KAI's is {names.scheduler}, so the pod is not a job and only occupies its node"
        )
        fix = f"write schedulerName: {names.scheduler}, or remove the label"
        pod.source.warn(findings, "no-effect", place, message, fix)


def warn_of_other_scheduler(owner: OwnerObject, names: KaiNames, findings: Findings) -> None:
    """Report an owner with a queue of KAI's whose pods, or some of them, have another scheduler."""
    for role in owner.roles:
        template = role.template
        queue, place = names.labelled_queue({**template.labels, **owner.labels})
        if queue and template.spec.scheduler != names.scheduler:
            message = f"found the queue {quote(queue)}, and pods of the scheduler "
            message += (
                f"{quote(template.spec.scheduler)}; KAI's is {names.scheduler}, so these pods "
            )
            message += "are not made"
            fix = f"write schedulerName: {names.scheduler} in the template, or remove the label"
            source = owner.source if names.labelled_queue(owner.labels)[0] else template.source
            source.warn(findings, "no-effect", place, message, fix)
            return


def warn_of_empty_group(group: KaiPodGroupObject, findings: Findings) -> None:
    """Report a PodGroup that no pod names."""
    group.source.warn(
        findings,
        "missing-reference",
        ("metadata", "name"),
        f"found the PodGroup {quote(full_name(group))} without a pod; it requests nothing",
        f"add its pods, each with the annotation {GROUP_NAME}",
    )
