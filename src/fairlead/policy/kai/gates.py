"""What keeps a job from starting whatever room there is: the bounds of its queue and those above.

Two gates. *Limit*: no queue on the path may hold more than its ceiling. *Quota*: what cannot be
preempted must fit into what is guaranteed, because nobody could take it back. Both look only at the
resources that the job asks for: a queue that is over in another one is no reason to refuse.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.model.state import ClusterState

OVER_LIMIT: Final = "OverLimit"
NON_PREEMPTIBLE_OVER_QUOTA: Final = "NonPreemptibleOverQuota"

_LOOKED_AT: Final = {"cpu": 0, "memory": 1, "gpu": 2}
_LAST: Final = len(_LOOKED_AT)  # what KAI has no axis for


def refusal(
    state: ClusterState, path: Sequence[QueueName], request: Amounts, *, preemptible: bool
) -> Reason | None:
    """Return why *request* more may not start in the first queue of *path*; None if it may.

    *path* leads from that queue upward, *request* is on the quota axes. The limit is asked first,
    all the way up, then the quota. What asks for nothing always passes. Cost: the length of the
    path times the number of axes; nothing is built unless there is something to say.
    """
    return over_limit(state, path, request) or (
        None if preemptible else over_quota(state, path, request)
    )


def over_limit(state: ClusterState, path: Sequence[QueueName], request: Amounts) -> Reason | None:
    """Return the refusal of the first queue on *path* that would hold more than its ceiling."""
    queues, sums = state.queues, state.sums
    asked = [(at, more) for at, more in enumerate(request) if more > 0]
    for name in path:
        bounds, held = queues[name].ceiling, sums[name].allocated
        for at, more in asked:
            bound = bounds[at]
            if bound is not None and held[at] + more > bound:
                exceeded = _exceeded(state, name, ("allocated", held), request, ("limit", bounds))
                return Reason(code=OVER_LIMIT, queue=name, comparisons=(exceeded,))
    return None


def over_quota(state: ClusterState, path: Sequence[QueueName], request: Amounts) -> Reason | None:
    """Return the refusal of the first queue on *path* whose guarantee does not cover it.

    For a request that cannot be preempted: it and its like must fit into what is guaranteed.
    """
    queues, sums = state.queues, state.sums
    asked = [(at, more) for at, more in enumerate(request) if more > 0]
    for name in path:
        bounds, held = queues[name].guaranteed, sums[name].non_preemptible
        for at, more in asked:
            bound = bounds[at]
            if bound is not None and held[at] + more > bound:
                exceeded = _exceeded(
                    state, name, ("non-preemptible", held), request, ("quota", bounds)
                )
                return Reason(code=NON_PREEMPTIBLE_OVER_QUOTA, queue=name, comparisons=(exceeded,))
    return None


def _exceeded(
    state: ClusterState,
    queue: QueueName,
    held: tuple[str, Sequence[int]],
    request: Amounts,
    bounds: tuple[str, Limits],
) -> Comparison:
    """Compare on the first axis that is exceeded, in the order in which KAI looks at them."""
    (held_name, amounts), (bound_name, limits) = held, bounds
    axes = state.axes.axes
    order = sorted(range(len(axes)), key=lambda at: _LOOKED_AT.get(axes[at].resource, _LAST))
    comparisons = (
        Comparison(
            queue=queue,
            axis=axes[at],
            left=(Term(held_name, amounts[at]), Term("request", request[at])),
            relation=">",
            right=Term(bound_name, limits[at]),
        )
        for at in order
        if request[at] > 0
    )
    return next(comparison for comparison in comparisons if comparison.holds())
