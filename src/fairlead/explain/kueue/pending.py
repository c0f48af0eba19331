"""The workloads that wait in a ClusterQueue or LocalQueue, in the form of Kueue's visibility API.

The document has the shape of that API, so that whatever reads the one reads the other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.kueue.reserved import check_documents, open_checks_text, reserved_in
from fairlead.explain.named import NODE, Named, NamedJobs, NamedNode, NamedQueue
from fairlead.explain.queues.report import PendingReport
from fairlead.explain.text.names import first_few
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.duration import moment_text
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from fairlead.policy.kueue.api import is_queued, local_queue_name, local_queue_usage, pending_order
from fairlead.policy.kueue.settings import KueueSettings


class PendingWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that waits, and its places, the first of which is 0."""

    workload: WorkloadName  # NAMESPACE/NAME
    local_queue: str  # NAMESPACE/NAME
    priority: int
    created_ms: int
    position_in_cluster_queue: int
    position_in_local_queue: int


def named_queues(state: ClusterState, named: Named) -> list[QueueName]:
    """Return the ClusterQueues in which to look for what is *named*."""
    match named:
        case NamedNode(node):
            raise FairleadError(
                f"{node!r} is a node, and workloads wait in queues: fairlead explain {NODE}/{node} "
                "shows what could start on it"
            )
        case NamedQueue(queue):
            if not isinstance(state.queues[queue].extension, ClusterQueue):
                raise FairleadError(
                    f"{queue!r} is a Cohort, and workloads wait in ClusterQueues: name one below it"
                )
            return [queue]
        case NamedJobs(jobs):
            return sorted({state.workloads[job].queue for job in jobs})


def _is_meant(workload: Workload, named: Named) -> bool:
    match named:
        case NamedQueue(_, local_queue):
            return local_queue in (None, local_queue_name(workload))
        case NamedJobs(jobs):
            return workload.name in jobs
    return False


def pending_workloads(
    state: ClusterState, settings: KueueSettings, queue: QueueName, now_ms: int
) -> list[PendingWorkload]:
    """Return what waits in *queue*, in the order of its ClusterQueue as a plan first finds it.

    The position in the ClusterQueue counts all workloads before it, whatever their LocalQueue;
    the other one those of its own LocalQueue, which is of one namespace.
    Cost: O(n log n) in those that wait in the ClusterQueue.
    """
    uses = local_queue_usage(state, settings, now_ms)
    line = pending_order(state, queue, settings, uses)
    queued = [state.workloads[name] for name in line if is_queued(state, state.workloads[name])]
    seen: Counter[str] = Counter()
    entries = []
    for position, workload in enumerate(queued):
        assert isinstance(workload.extension, KueueWorkload)
        local_queue = local_queue_name(workload)
        entries.append(
            PendingWorkload(
                workload=workload.name,
                local_queue=local_queue,
                priority=workload.priority,
                created_ms=workload.created_ms,
                position_in_cluster_queue=position,
                position_in_local_queue=seen[local_queue],
            )
        )
        seen[local_queue] += 1
    return entries


def pending_report(
    state: ClusterState, settings: KueueSettings, named: Named, now_ms: int
) -> PendingReport:
    """Return the workloads that wait of what is *named*: those of a queue, or some jobs.

    The document is a ``PendingWorkloadsSummary`` of the visibility API.
    """
    queues = named_queues(state, named)
    entries = [
        entry
        for queue in queues
        for entry in pending_workloads(state, settings, queue, now_ms)
        if _is_meant(state.workloads[entry.workload], named)
    ]
    local = named.local_queue if isinstance(named, NamedQueue) else None
    stopped = local if local and state.catalogue.local_queues[local].stopped else None
    reserved = [
        each for queue in queues for each in reserved_in(state, queue) if _is_meant(each, named)
    ]
    document: dict[str, object] = {
        "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
        "kind": "PendingWorkloadsSummary",
        "metadata": {},
    }
    if reserved:
        document["reserved"] = list(map(_reserved_item, reserved))
    return PendingReport(
        head=("WORKLOAD", "LOCAL-QUEUE", "CREATED", "PRIORITY", "POSITION", "LOCAL-POSITION"),
        words=3,
        rows=tuple(map(_row, entries)),
        document=document,
        items=tuple(map(_item, entries)),
        workloads=tuple([each.workload for each in entries]),
        note="; ".join(_notes(stopped, reserved)) or None,
    )


def _notes(stopped: str | None, reserved: Sequence[Workload]) -> Iterator[str]:
    if stopped is not None:
        yield f"{stopped} is stopped, so none of its workloads is queued"
    if reserved:
        names = first_few([each.name for each in reserved])
        has = "has" if len(reserved) == 1 else "have"
        told = open_checks_text(reserved[0]) if len(reserved) == 1 else "explain says which"
        yield f"{names} {has} quota reserved, and {has} admission checks to pass: {told}"


def _reserved_item(workload: Workload) -> dict[str, object]:
    namespace, _, name = workload.name.rpartition("/")
    return {
        "metadata": {"name": name, "namespace": namespace},
        "admissionChecks": check_documents(workload),
    }


def _row(entry: PendingWorkload) -> tuple[str, ...]:
    return (
        entry.workload,
        _short_local_queue(entry),
        moment_text(entry.created_ms),
        str(entry.priority),
        str(entry.position_in_cluster_queue),
        str(entry.position_in_local_queue),
    )


def _item(entry: PendingWorkload) -> dict[str, object]:
    namespace, _, name = entry.workload.rpartition("/")
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": moment_text(entry.created_ms),
        },
        "priority": entry.priority,
        "localQueueName": _short_local_queue(entry),
        "positionInClusterQueue": entry.position_in_cluster_queue,
        "positionInLocalQueue": entry.position_in_local_queue,
    }


def _short_local_queue(entry: PendingWorkload) -> str:
    """Return the name of the LocalQueue; its namespace is the workload's."""
    return entry.local_queue.rpartition("/")[2]
