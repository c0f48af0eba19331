"""Why a queue's fair share is what it is under KAI's rules: the very steps of the division."""

from fairlead.explain.axis_order import by_interest
from fairlead.explain.division_viewpoint import DivisionViewpoint
from fairlead.explain.explain_division import explain_division
from fairlead.explain.explanation import Explanation
from fairlead.model.axes import QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import KaiShares


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
