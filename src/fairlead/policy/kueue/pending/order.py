"""In which order the workloads of a ClusterQueue wait.

The order is Kueue's own. It does not say which workloads are considered: one that is held back or
waits for its back-off has its place all the same.
"""

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, UsageRank
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import is_preempting, local_queue_name


def pending_order(
    state: ClusterState,
    queue: QueueName,
    settings: KueueSettings,
    local_usage: LocalQueueUsage | None = None,
) -> list[WorkloadName]:
    """Return the workloads of *queue* that are not admitted, the head first.

    First those that wait for evicted workloads, so that no other takes what is freed; then by
    higher priority, by earlier `queued_ms`, and by name. In a queue ordered by *local_usage*, the
    usage of the LocalQueue comes before the priority. Cost: O(n log n).
    """
    counted = local_usage if local_usage is not None and local_usage.order(queue) else None

    def place(name: WorkloadName) -> tuple[bool, UsageRank | None, int, int, WorkloadName]:
        workload = state.workloads[name]
        return (
            not is_preempting(state, name),
            None if counted is None else counted.rank(name),
            -workload.priority,
            queued_ms(workload, settings),
            name,
        )

    return sorted((name for name in state.waiting(queue) if name not in state.runs), key=place)


def queued_ms(workload: Workload, settings: KueueSettings) -> int:
    """Return since when *workload* counts as pending: its creation, or a later eviction.

    An eviction counts only if it was requeued for it (the workload's ``requeued_ms``), and only as
    *settings* say.
    """
    rules = workload.extension
    if isinstance(rules, KueueWorkload) and settings.requeued_by == "Eviction":
        return workload.created_ms if rules.requeued_ms is None else rules.requeued_ms
    return workload.created_ms


def is_queued(state: ClusterState, workload: Workload) -> bool:
    """Return whether *workload*, if it is not admitted, counts as pending in Kueue.

    An inactive one does not, nor one whose LocalQueue is stopped. One in a stopped ClusterQueue
    does: its place is kept.
    """
    rules = workload.extension
    if not workload.active or not isinstance(rules, KueueWorkload):
        return False
    admissibility = state.catalogue.local_queues.get(local_queue_name(workload))
    return admissibility is None or not admissibility.stopped
