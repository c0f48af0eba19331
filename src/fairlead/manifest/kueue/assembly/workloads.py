"""Turns Kueue's Workloads into workloads of the model, waiting or started.

A workload waits in the ClusterQueue of its LocalQueue. One that has quota is charged to the
ClusterQueue that granted it, even if its LocalQueue points elsewhere by now. One whose LocalQueue
is not there waits in a queue that does not exist, called ``local-queue/NAMESPACE/NAME``: it stays
visible, and a policy can say what is wrong with it.
"""

from collections.abc import Iterable
from typing import Final

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.checks import priority_of
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.objects import KueuePodSet, KueueWorkloadObject
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.execution.reconcile import ObservedPlace, ObservedWorkload
from fairlead.model.memory import KueueMemory, is_empty
from fairlead.model.workload import KueueWorkload, PodId, PodSet, PodSets, Workload, numbered_pod

MAX_ADMITTED_PODS: Final = 500_000  # Kubernetes itself is built for 150,000


def missing_local_queue(namespace: str, name: str) -> QueueName:
    """Return the queue in which workloads wait whose LocalQueue is not in the input."""
    return QueueName(f"local-queue/{namespace}/{name}")


def refuse_too_many_pods(workloads: Iterable[KueueWorkloadObject], findings: Findings) -> bool:
    """Report an error where more pods have quota than any cluster has; True if there is one."""
    total = 0
    for workload in workloads:
        if workload.admitted_ms is None:
            continue
        total += _admitted_pods(workload)
        if total > MAX_ADMITTED_PODS:
            workload.source.error(
                findings,
                "too-large",
                ("status", "admission"),
                f"found more than {MAX_ADMITTED_PODS:,} admitted pods up to here",
                "split the input, or correct the counts",
            )
            return True
    return False


def _admitted_pods(workload: KueueWorkloadObject) -> int:
    return sum(pod_set.admitted for pod_set in workload.pod_sets)


def queue_of(workload: KueueWorkloadObject, objects: KueueObjects) -> QueueName:
    """Return the queue that *workload* waits in or is charged to."""
    if workload.admitted_ms is not None:
        return QueueName(workload.admitted_by)
    local_queue = objects.local_queues.get(f"{workload.namespace}/{workload.local_queue}")
    if local_queue is None:
        return missing_local_queue(workload.namespace, workload.local_queue)
    return local_queue.local_queue.cluster_queue


def model_workload(
    found: KueueWorkloadObject, objects: KueueObjects, resources: tuple[str, ...]
) -> Workload:
    """Return the workload, its requests on *resources*."""
    return Workload(
        name=WorkloadName(f"{found.namespace}/{found.name}"),
        namespace=found.namespace,
        queue=queue_of(found, objects),
        pod_sets=PodSets(_pod_set(each, resources) for each in found.pod_sets),
        min_count=sum(pod_set.min_count for pod_set in found.pod_sets),
        priority=priority_of(found, objects) or 0,
        active=found.active,
        created_ms=found.created_ms,
        extension=KueueWorkload(
            local_queue=found.local_queue,
            requeued_ms=found.requeued_ms,
            back_off_until_ms=found.back_off_until_ms,
            max_execution_s=found.max_execution_s,
            awaits_checks=found.awaits_checks,
            checks=found.checks,
            deactivated_by=found.deactivated_by,
            misconfigured=found.misconfigured,
        ),
    )


def _pod_set(found: KueuePodSet, resources: tuple[str, ...]) -> PodSet:
    return PodSet(
        name=found.name,
        count=found.count,
        min_count=found.min_count,
        requests=amounts_on(resources, found.requests),
        labels=tuple(sorted(found.labels.items())),
        constraints=found.constraints,
    )


def observed_workload(
    found: KueueWorkloadObject, objects: KueueObjects, resources: tuple[str, ...]
) -> ObservedWorkload:
    """Return the workload as its object shows it.

    Pods that have quota are on no node; those of an evicted workload are leaving. Its conditions
    record earlier decisions. More pods than any cluster has are an error that was reported: none of
    them gets a place, since each would cost memory.
    """
    memory = KueueMemory(preempting=found.preempting, preempted_ms=found.preempted_ms)
    places: dict[PodId, ObservedPlace] = {}
    if found.admitted_ms is not None and _admitted_pods(found) <= MAX_ADMITTED_PODS:
        place = ObservedPlace(None, found.admitted_ms, leaving=found.evicted)
        places = {
            numbered_pod(pod_set.name, number): place
            for pod_set in found.pod_sets
            for number in range(pod_set.admitted)
        }
    return ObservedWorkload(
        workload=model_workload(found, objects, resources),
        places=places,
        flavors=tuple(dict(each.flavors) for each in found.pod_sets) if places else (),
        memory=None if is_empty(memory) else memory,
    )
