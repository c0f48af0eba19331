"""The share tree under Kueue's rules."""

import msgspec

from fairlead.explain.share_report import AxisLine, Column, QueueEntry, ShareReport
from fairlead.model.axes import Axis, QueueName
from fairlead.model.queue import ClusterQueue, Cohort, Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShare, KueueShares, is_queued

QUEUE_COLUMNS = (
    Column(key="weight", title="WEIGHT", form="number"),
    Column(key="weightedShare", title="WEIGHTED-SHARE", form="share"),
    Column(key="dominantResource", title="DOMINANT", form="word", wide=True),
    Column(key="borrowing", title="BORROWING", form="word"),
    Column(key="admittedWorkloads", title="ADMITTED", form="number"),
    Column(key="pendingWorkloads", title="PENDING", form="number"),
    Column(key="pending", title="PENDING-REQUESTS", form="amounts", wide=True),
    Column(key="stopPolicy", title="STOPPED", form="word", wide=True),
)
AXIS_COLUMNS = (
    Column(key="guaranteed", title="GUARANTEED", form="amount"),
    Column(key="borrowLimit", title="BORROW-LIMIT", form="amount"),
    Column(key="lendLimit", title="LEND-LIMIT", form="amount"),
    Column(key="subtree", title="SUBTREE", form="amount", wide=True),
    Column(key="retained", title="RETAINED", form="amount", wide=True),
    Column(key="allocated", title="ALLOCATED", form="amount"),
    Column(key="borrowed", title="BORROWED", form="amount"),
    Column(key="lent", title="LENT", form="amount"),
    Column(key="available", title="AVAILABLE", form="amount"),
    Column(key="potential", title="POTENTIAL", form="amount", wide=True),
)


class WorkloadCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many workloads a ClusterQueue has, or all the ClusterQueues below a Cohort have."""

    admitted: int  # those that have quota, evicted ones among them until they have left
    pending: int


def kueue_report(state: ClusterState, shares: KueueShares) -> ShareReport:
    """Return quota, use, what is borrowed and lent, and who waits, of every node of the tree."""
    counts = workload_counts(state)
    return ShareReport(
        policy="kueue",
        capacity={
            Axis(name): amount for name, amount in zip(state.resources, state.capacity, strict=True)
        },
        queue_columns=QUEUE_COLUMNS,
        axis_columns=AXIS_COLUMNS,
        queues=tuple(_entry(state, row, counts[row.queue]) for row in shares.rows()),
    )


def workload_counts(state: ClusterState) -> dict[QueueName, WorkloadCounts]:
    """Count the workloads of every queue, once for each of its ancestors.

    Cost: O(workloads log workloads + queues x depth).
    """
    admitted = dict.fromkeys(state.tree_order(), 0)
    pending = admitted.copy()
    for queue in admitted:
        with_quota = sum(name in state.runs for name in state.queued(queue))
        waiting = sum(
            name not in state.runs and is_queued(state, state.workloads[name])
            for name in state.waiting(queue)
        )
        for above in state.path(queue):
            admitted[above] += with_quota
            pending[above] += waiting
    return {
        queue: WorkloadCounts(admitted=admitted[queue], pending=pending[queue])
        for queue in admitted
    }


def _entry(state: ClusterState, row: KueueShare, counts: WorkloadCounts) -> QueueEntry:
    queue = state.queues[row.queue]
    return QueueEntry(
        name=queue.name,
        parent=queue.parent,
        depth=len(state.path(queue.name)) - 1,
        kind="Cohort" if isinstance(queue.extension, Cohort) else "ClusterQueue",
        cells={
            "weight": row.share.weight,
            "weightedShare": row.share.weighted_share_status,
            "dominantResource": row.share.dominant,
            "borrowing": row.share.borrowing,
            "admittedWorkloads": counts.admitted,
            "pendingWorkloads": counts.pending,
            "pending": _pending(state, queue.name),
            "stopPolicy": _stop_policy(queue),
        },
        lines=tuple(_line(state, row, at) for at in sorted(row.listed)),
    )


def _line(state: ClusterState, row: KueueShare, at: int) -> AxisLine:
    queue = state.queues[row.queue]
    return AxisLine(
        axis=state.axes.axes[at],
        cells={
            "guaranteed": queue.guaranteed[at],
            "borrowLimit": queue.borrow_limit[at],
            "lendLimit": queue.lend_limit[at],
            "subtree": row.subtree[at],
            "retained": row.retained[at],
            "allocated": row.charged[at],
            "borrowed": row.borrowed[at],
            "lent": row.lent[at],
            "available": row.available[at],
            "potential": row.potential[at],
        },
    )


def _pending(state: ClusterState, queue: QueueName) -> dict[str, int]:
    """What waits has no flavor yet, so it is told per resource."""
    pending = zip(state.resources, state.sums[queue].pending, strict=True)
    return {name: amount for name, amount in pending if amount}


def _stop_policy(queue: Queue) -> str | None:
    """Return how a ClusterQueue is stopped; None if it is not."""
    rules = queue.extension
    if not isinstance(rules, ClusterQueue) or rules.stop_policy == "None":
        return None
    return rules.stop_policy
