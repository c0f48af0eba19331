"""From KAI's queues, pod groups and shards with pods and nodes to one cluster state."""

from collections.abc import Iterator, Sequence

import msgspec

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.collection import Collection
from fairlead.manifest.core.core_objects import core_objects
from fairlead.manifest.core.foreign_pods import foreign_pods
from fairlead.manifest.core.node_amounts import model_node, resource_names
from fairlead.manifest.core.pod_sets import labels_looked_at
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assemble_advice import advise_on_queues
from fairlead.manifest.kai.assemble_devices import device_shares
from fairlead.manifest.kai.assemble_foreign_devices import charge_foreign_devices
from fairlead.manifest.kai.assemble_gpu import SharedGpus
from fairlead.manifest.kai.assemble_jobs import Job, sort_pods
from fairlead.manifest.kai.assemble_priority import KaiPriorities
from fairlead.manifest.kai.assemble_queues import kai_tree, model_queue
from fairlead.manifest.kai.assemble_usage import advise_on_k, settle_usage
from fairlead.manifest.kai.assemble_workload import KaiWorkload
from fairlead.manifest.kai.node_pool import NodePool, choose_pool
from fairlead.manifest.kai.queue_demand import Demands
from fairlead.manifest.kai.quota_axes import KAI_AXES, kai_axes
from fairlead.manifest.objects import (
    KaiPodGroupObject,
    KaiQueueObject,
    KaiShardObject,
)
from fairlead.manifest.text.path import quote
from fairlead.model.axes import QueueName
from fairlead.model.catalogue import Catalogue
from fairlead.model.events import (
    CatalogueChanged,
    Event,
    ForeignPodChanged,
    NodeAdded,
    QueueChanged,
    UsageChanged,
)
from fairlead.model.reconcile import bring_in_line
from fairlead.model.state import ClusterState


def assemble_kai(
    objects: Collection, findings: Findings, rules: AssemblyRules = OF_FILES
) -> Assembled | None:
    """Return the state that the objects describe, or None if any finding of the run is an error.

    Objects may be listed in any order. Cost: about one look at every object, and sorting.
    """
    queues = kai_tree(objects.of(KaiQueueObject), findings)
    pool = choose_pool(objects.of(KaiShardObject), findings)
    usage = settle_usage(pool.shard, objects, findings)
    parts = _Parts(objects, queues, pool, findings, rules)
    _check_queues_of_jobs(parts.jobs, queues, findings)
    if findings.has_errors:
        return None
    state = ClusterState(parts.resources, kai_axes(parts.resources))
    for event in _events(queues, parts):
        state.apply(event)
    for workload in parts.workloads:
        observed = workload.observed(parts.resources, parts.shares)
        bring_in_line(state, observed.workload.name, observed)
    for event in parts.demands.events(parts.resources):
        state.apply(event)
    total = state.total()
    advise_on_queues(queues, total if parts.nodes else None, findings)
    advise_on_k(usage, queues, total[KAI_AXES.index("gpu")], findings)
    return Assembled(state=state, settings=usage.settings)


class _Parts:
    """The objects besides queues: nodes, jobs, and the resources that both are measured on."""

    def __init__(
        self,
        objects: Collection,
        queues: Sequence[KaiQueueObject],
        pool: NodePool,
        findings: Findings,
        rules: AssemblyRules,
    ) -> None:
        core = core_objects(objects, findings)
        groups = objects.of(KaiPodGroupObject)
        self.demands = Demands(queues, has_jobs=bool(core.pods or groups))
        self.nodes = [node for node in core.nodes.values() if pool.has(node.labels)]
        pods = sort_pods(core.pods, groups, pool, findings, rules)
        pool.tell_left_out(list(core.nodes.values()), pods.in_other_pools, findings)
        shared_gpus = SharedGpus(self.nodes, findings)
        self.jobs = [_charged(job, shared_gpus) for job in pods.jobs]
        own_pods = [pod for job in self.jobs for pod in job.pods]
        foreign = charge_foreign_devices(pods.foreign, own_pods, self.nodes, findings)
        self.shares = device_shares(own_pods, self.nodes, findings, foreign.held_by_others)
        priorities = KaiPriorities(core.priority_classes.values(), findings)
        looked_at = labels_looked_at(own_pods)
        self.workloads = [
            KaiWorkload(job, priorities, findings, labels_looked_at=looked_at) for job in self.jobs
        ]
        self.namespaces = {name: dict(each.labels) for name, each in core.namespaces.items()}
        self.foreign = foreign.pods
        self.resources = resource_names(
            [
                *(node.allocatable for node in self.nodes),
                *(pod.requests for pod in self.foreign),
                *(pod.requests for pod in own_pods),
                *self.demands.amounts(),
            ]
        )


def _charged(job: Job, shared_gpus: SharedGpus) -> Job:
    """Return the job with every share of a GPU counted; nearly all jobs have none."""
    if all(pod.gpu_share is None for pod in job.pods):
        return job
    return msgspec.structs.replace(job, pods=tuple(map(shared_gpus.charged, job.pods)))


def _events(queues: Sequence[KaiQueueObject], parts: _Parts) -> Iterator[Event]:
    """Yield all that is to be known beside workloads, in an order that no listing changes."""
    if parts.namespaces:
        yield CatalogueChanged(Catalogue(namespaces=parts.namespaces))
    # Before the nodes, so that what a node has beside them is worked out once.
    own = (pod.constraints for job in parts.jobs for pod in job.pods)
    yield from map(ForeignPodChanged, foreign_pods(parts.foreign, own, parts.resources))
    for node in parts.nodes:
        yield NodeAdded(model_node(node, parts.resources))
    for queue in queues:
        yield QueueChanged(model_queue(queue))
    usage = {
        QueueName(queue.name): tuple([queue.usage_e9[axis] for axis in KAI_AXES])
        for queue in queues
        if queue.usage_e9 is not None
    }
    if usage:
        yield UsageChanged(usage)


def _check_queues_of_jobs(
    jobs: Sequence[Job], queues: Sequence[KaiQueueObject], findings: Findings
) -> None:
    """Warn about jobs that wait for ever: KAI runs nothing outside the leaves of the tree."""
    names = {queue.name for queue in queues}
    inner = {queue.parent for queue in queues}
    for job in jobs:
        if job.is_group_missing:
            continue  # that is told already
        if job.queue not in names:
            message = f"{_found_queue(job)}, which is not in the tree" if job.queue else ""
            message = f"{message or 'found no queue'}; the job waits until there is one"
            fix = "name a queue, or add it with all queues above it"
            if not job.queue:
                fix = (
                    "name one here, or in a label of the PodGroup; labels of its pods do not count"
                )
            job.source.report(
                findings, "warning", "missing-reference", job.queue_path, message, fix
            )
        elif job.queue in inner:
            message = f"{_found_queue(job)}, which has queues below it; only leaves run jobs"
            fix = "name one of the queues below it"
            job.source.report(findings, "warning", "unusable", job.queue_path, message, fix)


def _found_queue(job: Job) -> str:
    if job.is_queue_named:
        return f"found the queue {quote(job.queue)}"
    label = str(job.queue_path[-1])
    is_there = label in job.pods[0].labels
    found = f"found the label {label} without a value" if is_there else f"found no label {label}"
    return f"{found}, so that the queue is {quote(job.queue)}"
