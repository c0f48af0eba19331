"""The limits and quotas of queues: what keeps a job from starting even if there is room.

Two checks. *Limit*: no queue on the path may hold more than its ceiling. *Quota*: pods that are not
preemptible must fit into what is guaranteed, because they could not be reclaimed. Both look only at
the resources that the job requests: a queue that is over in another one is no reason to refuse.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fairlead.model.axes import Amounts, Axis, Limits, QueueName
from fairlead.model.plan import Comparison, Reason, Relation, Term
from fairlead.model.state import ClusterState


def axis_comparisons(
    axes: Sequence[Axis],
    queue: QueueName,
    held: tuple[str, Sequence[int]],
    relation: Relation,
    bounds: tuple[str, Limits],
    *,
    request: Amounts | None = None,
) -> list[Comparison]:
    """Return, for every axis, the comparison of what is *held* and the *request* with the bound.

    Held and bounds come with their names in a reason. Whether a comparison holds is not checked
    here.
    """
    held_name, amounts = held
    bound_name, limits = bounds
    asked = () if request is None else (request,)
    return [
        Comparison(
            queue=queue,
            axis=axis,
            left=(Term(held_name, amount), *(Term("request", more) for more in requested)),
            relation=relation,
            right=Term(bound_name, bound),
        )
        for axis, bound, amount, *requested in zip(axes, limits, amounts, *asked, strict=True)
    ]


def holding(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons of which the numbers are in the stated relation."""
    return tuple([comparison for comparison in comparisons if comparison.holds()])


OVER_LIMIT: Final = "OverLimit"
NON_PREEMPTIBLE_OVER_QUOTA: Final = "NonPreemptibleOverQuota"

_LOOKED_AT: Final = {"cpu": 0, "memory": 1, "gpu": 2}
_LAST: Final = len(_LOOKED_AT)  # what KAI has no axis for


def refusal(
    state: ClusterState, path: Sequence[QueueName], request: Amounts, *, preemptible: bool
) -> Reason | None:
    """Return why *request* more may not start in the first queue of *path*; None if it may.

    *path* leads from that queue to the root, *request* is on the quota axes. The limit is checked
    first, all the way up, then the quota. A request of nothing always passes. Cost: the length of
    the path times the number of axes; nothing is built unless there is a refusal.
    """
    return over_limit(state, path, request) or (
        None if preemptible else over_quota(state, path, request)
    )


def over_limit(state: ClusterState, path: Sequence[QueueName], request: Amounts) -> Reason | None:
    """Return the refusal of the first queue on *path* that would hold more than its ceiling."""
    bounds = [(name, state.sums[name].allocated, state.queues[name].ceiling) for name in path]
    return _first_refusal(state, OVER_LIMIT, ("allocated", "limit"), bounds, request)


def over_quota(state: ClusterState, path: Sequence[QueueName], request: Amounts) -> Reason | None:
    """Return the refusal of the first queue on *path* whose guarantee does not cover the request.

    For pods that are not preemptible: all of them together must fit into what is guaranteed.
    """
    bounds = [
        (name, state.sums[name].non_preemptible, state.queues[name].guaranteed) for name in path
    ]
    terms = ("non-preemptible", "quota")
    return _first_refusal(state, NON_PREEMPTIBLE_OVER_QUOTA, terms, bounds, request)


def _first_refusal(
    state: ClusterState,
    code: str,
    terms: tuple[str, str],
    bounds: Sequence[tuple[QueueName, Sequence[int], Limits]],
    request: Amounts,
) -> Reason | None:
    """Return the reason of the first queue that would hold more than its bound, if one would.

    *terms* are the names of what is held and of the bound.
    """
    asked = [(at, more) for at, more in enumerate(request) if more > 0]
    for name, held, limits in bounds:
        for at, more in asked:
            bound = limits[at]
            if bound is not None and held[at] + more > bound:
                exceeded = _exceeded(state, name, (terms[0], held), request, (terms[1], limits))
                return Reason(code=code, queue=name, comparisons=(exceeded,))
    return None


def _exceeded(
    state: ClusterState,
    queue: QueueName,
    held: tuple[str, Sequence[int]],
    request: Amounts,
    bounds: tuple[str, Limits],
) -> Comparison:
    """Compare on the first axis that is exceeded, in KAI's order of resources."""
    axes = state.axes.axes
    every = axis_comparisons(axes, queue, held, ">", bounds, request=request)
    found = [
        (axis, each) for axis, more, each in zip(axes, request, every, strict=True) if more > 0
    ]
    found.sort(key=lambda pair: _LOOKED_AT.get(pair[0].resource, _LAST))
    return next(each for _, each in found if each.holds())
