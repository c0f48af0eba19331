"""Why a ClusterQueue or Cohort has the share that it has, and how much it can still take."""

import math

from fairlead.explain.amount_text import amount_text
from fairlead.explain.axis_order import by_interest
from fairlead.explain.explanation import Explanation, Section
from fairlead.explain.report_kueue import kueue_report
from fairlead.explain.share_report import quantities, queue_document
from fairlead.model.axes import Axis, QueueName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShare, KueueShares

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
