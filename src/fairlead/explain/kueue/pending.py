"""The workloads that wait in a ClusterQueue or LocalQueue, in the form of Kueue's visibility API.

The document has the shape of that API, so that whatever reads the one reads the other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.kueue.reserved import check_documents, open_checks_text, reserved_in
from fairlead.explain.named import is_queue
from fairlead.explain.queues.report import PendingReport
from fairlead.explain.text.names import first_few, printable
from fairlead.manifest.text.suggest import did_you_mean
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


class PendingQueue(msgspec.Struct, frozen=True, kw_only=True):
    """What a user named: a ClusterQueue, or the part of one that came through a LocalQueue."""

    cluster_queue: QueueName
    local_queue: str | None = None  # NAMESPACE/NAME


def pending_queue(state: ClusterState, text: str) -> PendingQueue:
    """Return the ClusterQueue, or as NAMESPACE/NAME the LocalQueue, that *text* names."""
    doors = state.catalogue.local_queues
    queues = {
        name
        for name in state.tree_order()
        if isinstance(state.queues[name].extension, ClusterQueue)
    }
    if text in queues:
        return PendingQueue(cluster_queue=QueueName(text))
    if text in doors:
        return PendingQueue(cluster_queue=doors[text].cluster_queue, local_queue=text)
    if is_queue(state, text):
        raise FairleadError(
            f"{text!r} is a Cohort, and workloads wait in ClusterQueues: name one below it"
        )
    same_name = sorted(name for name in doors if name.rpartition("/")[2] == text)
    if same_name:
        names = printable(first_few(same_name))
        raise FairleadError(f"a LocalQueue is named with its namespace: {names}")
    guess = printable(did_you_mean(text, queues | set(doors)))
    what = guess or "fairlead queues lists the ClusterQueues"
    raise FairleadError(f"no ClusterQueue or LocalQueue is named {text!r}. {what}")


def pending_workloads(
    state: ClusterState, settings: KueueSettings, queue: PendingQueue, now_ms: int
) -> list[PendingWorkload]:
    """Return what waits in *queue*, in the order of its ClusterQueue as a plan first finds it.

    The position in the ClusterQueue counts all workloads before it, whatever their LocalQueue;
    the other one those of its own LocalQueue, which is of one namespace.
    Cost: O(n log n) in those that wait in the ClusterQueue.
    """
    uses = local_queue_usage(state, settings, now_ms)
    line = pending_order(state, queue.cluster_queue, settings, uses)
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
    named = queue.local_queue
    return entries if named is None else [each for each in entries if each.local_queue == named]


def pending_report(
    state: ClusterState, settings: KueueSettings, text: str, now_ms: int
) -> PendingReport:
    """Return the workloads that wait in the queue that *text* names.

    The document is a ``PendingWorkloadsSummary`` of the visibility API.
    """
    queue = pending_queue(state, text)
    entries = pending_workloads(state, settings, queue, now_ms)
    local = queue.local_queue
    is_stopped = local is not None and state.catalogue.local_queues[local].stopped
    reserved = list(reserved_in(state, queue.cluster_queue, local))
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
        note="; ".join(_notes(text, reserved, is_stopped=is_stopped)) or None,
    )


def _notes(text: str, reserved: Sequence[Workload], *, is_stopped: bool) -> Iterator[str]:
    if is_stopped:
        yield f"{text} is stopped, so none of its workloads is queued"
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
