"""Whether a job may reclaim at all, before any victim is looked for.

A queue reclaims only up to its fair share: with the job it must stay within it. A job that is not
preemptible must also stay within the guarantee, because it could not be reclaimed again. Both look
at every resource, also those that the job does not request: a queue that holds too much of one
resource reclaims nothing of another.

Only the job's own queue is checked. What the queues above say depends on the victims (see `judge`).
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import Amounts, Limits
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.capacity import (
    NON_PREEMPTIBLE_OVER_QUOTA,
    axis_comparisons,
    holding,
)
from fairlead.policy.kai.fair_share.shares import KaiShare

OVER_FAIR_SHARE: Final = "OverFairShare"


def may_reclaim(
    state: ClusterState, share: KaiShare, request: Amounts, *, preemptible: bool
) -> bool:
    """Return whether a job of the queue of *share* may reclaim *request*. Cost: the axes."""
    sums, guaranteed = state.sums[share.queue], state.queues[share.queue].guaranteed
    if first_over(sums.allocated, request, share.fair_share) is not None:
        return False
    return preemptible or first_over(sums.non_preemptible, request, guaranteed) is None


def reclaim_refusal(
    state: ClusterState, share: KaiShare, request: Amounts, *, preemptible: bool
) -> Reason | None:
    """Return why a job of the queue of *share* may not reclaim *request*; None if it may.

    The fair share is checked first; the reason has a comparison for each resource that is over. A
    larger fair share or guarantee never turns a pass into a refusal. Cost: the number of axes;
    nothing is built unless there is a refusal.
    """
    bounds: tuple[str, Limits]
    sums, guaranteed = state.sums[share.queue], state.queues[share.queue].guaranteed
    if first_over(sums.allocated, request, share.fair_share) is not None:
        code = OVER_FAIR_SHARE
        held, bounds = ("allocated", sums.allocated), ("fair share", share.fair_share)
    elif not preemptible and first_over(sums.non_preemptible, request, guaranteed) is not None:
        code = NON_PREEMPTIBLE_OVER_QUOTA
        held, bounds = ("non-preemptible", sums.non_preemptible), ("quota", guaranteed)
    else:
        return None
    every = axis_comparisons(state.axes.axes, share.queue, held, ">", bounds, request=request)
    return Reason(code=code, queue=share.queue, comparisons=holding(every))


def first_over(held: Sequence[int], request: Amounts, bounds: Limits) -> int | None:
    """Return the first axis on which *held* and *request* exceed the bound; None if on none."""
    for at, bound in enumerate(bounds):
        if bound is not None and held[at] + request[at] > bound:
            return at
    return None
