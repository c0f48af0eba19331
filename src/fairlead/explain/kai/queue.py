"""The share tree and the fair share of one queue under the KAI rules."""

from fairlead.explain.kai.division import DivisionViewpoint, explain_division
from fairlead.explain.queues.report import AxisLine, Column, QueueEntry, ShareReport
from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import KaiShare, KaiShares, saturation

QUEUE_COLUMNS = (Column(key="priority", title="PRIORITY", form="number", wide=True),)
AXIS_COLUMNS = (
    Column(key="weight", title="WEIGHT", form="number"),
    Column(key="guaranteed", title="GUARANTEED", form="amount", unlimited="all"),
    Column(key="limit", title="LIMIT", form="amount"),
    Column(key="allocated", title="ALLOCATED", form="amount"),
    Column(key="nonPreemptible", title="NON-PREEMPTIBLE", form="amount", wide=True),
    Column(key="requested", title="REQUESTED", form="amount"),
    Column(key="fairShare", title="FAIR-SHARE", form="amount"),
    Column(key="allocatable", title="ALLOCATABLE", form="amount", wide=True),
    Column(key="saturation", title="SATURATION", form="ratio"),
)
USAGE = Column(key="usage", title="USAGE", form="usage")


def kai_report(state: ClusterState, shares: KaiShares) -> ShareReport:
    """Return every queue's weight, guarantee, limit, use and fair share, axis by axis."""
    depths = {name: len(state.path(name)) - 1 for name in state.queues}
    entries = [_entry(state, row, depths[row.queue]) for row in shares.rows()]
    return ShareReport(
        policy="kai",
        capacity=dict(zip(state.axes.axes, shares.total, strict=True)),
        queue_columns=QUEUE_COLUMNS,
        axis_columns=(*AXIS_COLUMNS, USAGE) if state.usage else AXIS_COLUMNS,
        queues=tuple(entries),
    )


def _entry(state: ClusterState, row: KaiShare, depth: int) -> QueueEntry:
    queue = state.queues[row.queue]
    return QueueEntry(
        name=queue.name,
        parent=queue.parent,
        depth=depth,
        kind="Queue",
        cells={"priority": queue.priority},
        lines=tuple(_axis_line(state, row, at) for at in range(len(state.axes))),
    )


def _axis_line(state: ClusterState, row: KaiShare, at: int) -> AxisLine:
    queue = state.queues[row.queue]
    sums = state.sums[row.queue]
    return AxisLine(
        axis=state.axes.axes[at],
        cells={
            "weight": queue.weights[at],
            "guaranteed": queue.guaranteed[at],
            "limit": queue.ceiling[at],
            "allocated": sums.allocated[at],
            "nonPreemptible": sums.non_preemptible[at],
            "requested": row.requested[at],
            "fairShare": row.fair_share[at],
            "allocatable": row.allocatable[at],
            "saturation": saturation(sums.allocated[at], row.fair_share[at]),
            "usage": row.usage_e9[at],
        },
    )


def explain_kai_queue(state: ClusterState, shares: KaiShares, queue: QueueName) -> Explanation:
    """Return the arithmetic of the fair share of *queue*, for every axis it has to do with."""
    views = [
        DivisionViewpoint(state, at, shares.division(queue, at), queue)
        for at in map(state.axes.axes.index, by_interest(state.axes.axes))
        if _concerns(state, queue, at)
    ]
    shown = ", ".join(f"{view.axis} {view.own_share}" for view in views)
    return Explanation(
        answer=f"{queue} has a fair share of {shown or 'nothing: it asks for nothing'}.",
        sections=tuple(section for view in views for section in explain_division(view)),
        data={
            "queue": queue,
            "divisions": [
                {
                    "resource": str(view.axis),
                    "baseUnitsPerUnit": scale_of(view.axis.resource),
                    "division": view.division,
                }
                for view in views
            ],
        },
    )


def _concerns(state: ClusterState, queue: QueueName, at: int) -> bool:
    facts = state.queues[queue]
    return bool(state.requested(queue)[at] or facts.guaranteed[at])
