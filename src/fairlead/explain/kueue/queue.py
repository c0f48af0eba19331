"""The share tree, and the quota, free capacity and weighted share of one ClusterQueue or Cohort."""

import math

import msgspec

from fairlead.explain.queues.report import (
    AxisLine,
    Column,
    QueueEntry,
    ShareReport,
    quantities,
    queue_document,
)
from fairlead.explain.text.amounts import amount_text, by_interest
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.model.axes import Axis, QueueName
from fairlead.model.queue import ClusterQueue, Cohort, Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShare, KueueShares, awaits_checks, is_queued

QUEUE_COLUMNS = (
    Column(key="weight", title="WEIGHT", form="number"),
    Column(key="weightedShare", title="WEIGHTED-SHARE", form="share"),
    Column(key="dominantResource", title="DOMINANT", form="word", wide=True),
    Column(key="borrowing", title="BORROWING", form="word"),
    Column(key="reservingWorkloads", title="RESERVING", form="number", wide=True),
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

    reserving: int  # those that have quota, evicted ones among them until they have left
    admitted: int  # of them, those that wait for no admission check
    pending: int


def kueue_report(state: ClusterState, shares: KueueShares) -> ShareReport:
    """Return quota, use, loans and pending workloads of every node of the tree."""
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
    reserving = dict.fromkeys(state.tree_order(), 0)
    admitted, pending = reserving.copy(), reserving.copy()
    for queue in reserving:
        with_quota = [name for name in state.queued(queue) if name in state.runs]
        with_checks = sum(awaits_checks(state, name) for name in with_quota)
        waiting = sum(
            name not in state.runs and is_queued(state, state.workloads[name])
            for name in state.waiting(queue)
        )
        for above in state.path(queue):
            reserving[above] += len(with_quota)
            admitted[above] += len(with_quota) - with_checks
            pending[above] += waiting
    return {
        queue: WorkloadCounts(
            reserving=reserving[queue], admitted=admitted[queue], pending=pending[queue]
        )
        for queue in reserving
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
            "reservingWorkloads": counts.reserving,
            "admittedWorkloads": counts.admitted,
            "pendingWorkloads": counts.pending,
            "pending": _pending(state, queue.name),
            "stopPolicy": _stop_policy(queue),
        },
        lines=tuple(_axis_line(state, row, at) for at in sorted(row.listed)),
    )


def _axis_line(state: ClusterState, row: KueueShare, at: int) -> AxisLine:
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
    """Pending requests have no flavor yet, so they are summed per resource."""
    pending = zip(state.resources, state.sums[queue].pending, strict=True)
    return {name: amount for name, amount in pending if amount}


def _stop_policy(queue: Queue) -> str | None:
    """Return how a ClusterQueue is stopped; None if it is not."""
    rules = queue.extension
    if not isinstance(rules, ClusterQueue) or rules.stop_policy == "None":
        return None
    return rules.stop_policy


QUOTA_COLUMNS = ("GUARANTEED", "SUBTREE", "RETAINED", "ALLOCATED", "BORROWED", "LENT")
ROOM_COLUMNS = ("SUBTREE", "RETAINED", "ALLOCATED", "BORROW LIMIT", "AVAILABLE")


def explain_kueue_queue(state: ClusterState, shares: KueueShares, queue: QueueName) -> Explanation:
    """Return the arithmetic of quota, room and weighted share of *queue*."""
    row = next(row for row in shares.rows() if row.queue == queue)
    ordered = by_interest(state.axes.axes[at] for at in sorted(row.listed))
    axes = [state.axes.axes.index(axis) for axis in ordered]
    return Explanation(
        answer=_answer(row) + _stopped(state, queue),
        sections=(
            _quota(state, row, axes),
            _room(state, shares, queue, axes),
            _share(shares, row),
        ),
        data={
            "queue": queue,
            "share": {
                "borrowed": quantities(shares.tree.borrowed(queue)),
                "lendable": quantities(shares.tree.lendable(queue)),
                "ratio": row.share.ratio,
                "weight": row.share.weight,
                "share": "inf" if math.isinf(row.share.share) else row.share.share,
            },
            "path": _path_documents(state, shares, queue),
        },
    )


def _path_documents(
    state: ClusterState, shares: KueueShares, queue: QueueName
) -> list[dict[str, object]]:
    """Return the numbers of the queue and its ancestors, upward."""
    report = kueue_report(state, shares)
    entries = {entry.name: entry for entry in report.queues}
    return [queue_document(report, entries[name]) for name in state.path(queue)]


def _answer(row: KueueShare) -> str:
    share = row.share
    if share.dominant is None:
        borrowing = (
            "borrows what its cohort could not lend" if share.borrowing else "borrows nothing"
        )
        return f"{row.queue} {borrowing}, so its weighted share is 0."
    return (
        f"{row.queue} has a weighted share of {share.weighted_share_status}: "
        f"it borrows most in {share.dominant}."
    )


def _stopped(state: ClusterState, queue: QueueName) -> str:
    """Say so if a ClusterQueue admits nothing, whatever its numbers are."""
    rules = state.queues[queue].extension
    if not isinstance(rules, ClusterQueue) or rules.stop_policy == "None":
        return ""
    return f" It is stopped ({rules.stop_policy}), so it admits nothing."


def _quota(state: ClusterState, row: KueueShare, axes: list[int]) -> Section:
    queue = state.queues[row.queue]
    head = ("FLAVOR/RESOURCE", *QUOTA_COLUMNS)
    rows = [
        (
            str(axis),
            amount_text(axis, queue.guaranteed[at]),
            amount_text(axis, row.subtree[at]),
            amount_text(axis, row.retained[at]),
            amount_text(axis, row.charged[at]),
            amount_text(axis, row.borrowed[at]),
            amount_text(axis, row.lent[at]),
        )
        for at in axes
        for axis in (state.axes.axes[at],)
    ]
    return Section(
        title="1. Quota and use",
        table=(head, *rows),
        remarks=(
            "Subtree: its own quota and what its children lend.",
            "Retained: what its lend limit keeps from the parent.",
            "Borrowed: allocated less subtree, where that is positive.",
            "Lent: its part of what others borrow, by what each leaves idle of what it may lend;",
            "a cohort's own quota goes first.",
        ),
    )


def _room(state: ClusterState, shares: KueueShares, queue: QueueName, axes: list[int]) -> Section:
    path = state.path(queue)
    head = ("FLAVOR/RESOURCE", "QUEUE", *ROOM_COLUMNS)
    tree = shares.tree
    columns = {
        name: (
            tree.subtree(name),
            tree.retained(name),
            tree.charged(name),
            state.queues[name].borrow_limit,
            tree.available(name),
        )
        for name in path
    }
    rows = [
        (str(axis), name, *(amount_text(axis, column[at]) for column in columns[name]))
        for at in axes
        for axis in (state.axes.axes[at],)
        for name in path
    ]
    return Section(
        title="2. What it can still take, from here up to the root",
        table=(head, *rows),
        words=2,
        remarks=(
            "Available at a root: subtree - allocated. Else: what is free of retained, and the",
            "parent's available; with a borrow limit at most subtree - retained",
            "- max(0, allocated - retained) + borrow limit of that.",
        ),
    )


def _share(shares: KueueShares, row: KueueShare) -> Section:
    borrowed = shares.tree.borrowed(row.queue)
    lendable = shares.tree.lendable(row.queue)
    head = ("RESOURCE", "BORROWED", "LENDABLE", "RATIO x 1000")
    rows = [
        (
            resource,
            amount_text(Axis(resource), amount),
            amount_text(Axis(resource), lendable.get(resource, 0)),
            _ratio(amount, lendable.get(resource, 0)),
        )
        for resource, amount in sorted(borrowed.items())
    ]
    weight = row.share.weight
    result = (
        f"The largest ratio, {row.share.ratio:.3f}, over weight {weight}: {row.share.share:.3f}, "
        "shown rounded up."
    )
    return Section(
        title="3. Weighted share",
        table=(head, *rows) if rows else (),
        remarks=(
            result,
            "Lendable: all that the parent could ever hold of the resource, over all flavors.",
        ),
    )


def _ratio(borrowed: int, lendable: int) -> str:
    return f"{borrowed * 1000 / lendable:.3f}" if lendable > 0 else "not counted"
