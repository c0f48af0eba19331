"""By what right a pod gets its place, and why others give way to it, with the numbers."""

from typing import Final

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.plan import Comparison, Reason, Relation, Term
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.victims import Asked
from fairlead.policy.elastic_quota.quota.pending_pod import Asker

WITHIN_MIN: Final = "WithinMin"
BORROWS: Final = "Borrows"
WITHOUT_QUOTA: Final = "WithoutQuota"
TAKES_BACK: Final = "TakesBack"
PREEMPTS: Final = "Preempts"
WAITS_FOR_LEAVING: Final = "WaitsForLeaving"
MIN_TAKEN_BACK: Final = "MinTakenBack"
BELOW_MIN: Final = "TakenBelowMin"
PREEMPTED_BY_PRIORITY: Final = "PreemptedByPriority"


def reason_to_start(desk: Desk, asker: Asker) -> Reason:
    """Return whether a pod that may start is within the min of its namespace, or borrows.

    To be asked before it is started.
    """
    queue = asker.queue
    if queue is None:
        return Reason(code=WITHOUT_QUOTA)
    within = _against_min(desk, asker, "<=")
    if all(each.holds() for each in within):
        return Reason(code=WITHIN_MIN, queue=queue, comparisons=within)
    over = [each for each in _against_min(desk, asker, ">") if each.holds()]
    pool = _against_pool(desk, asker)
    return Reason(code=BORROWS, queue=queue, comparisons=(*over, *pool))


def reason_to_claim(desk: Desk, asker: Asker, asked: Asked, victims: tuple[Holder, ...]) -> Reason:
    """Return by what right a pod waits for a place that others are to leave."""
    if not victims:
        return Reason(code=WAITS_FOR_LEAVING, queue=asker.queue)
    if asked == "borrowers":
        within = _against_min(desk, asker, "<=", later=desk.looks_later)
        return Reason(code=TAKES_BACK, queue=asker.queue, comparisons=within)
    first = max(victims, key=lambda each: each.priority)
    return Reason(code=PREEMPTS, queue=asker.queue, comparisons=(_outranks(asker, first),))


def reason_to_leave(desk: Desk, asker: Asker, asked: Asked, victim: Holder) -> Reason:
    """Return why *victim* gives way to *asker*, as things are before it does."""
    queue = victim.queue
    if asked != "borrowers" or queue is None:
        return Reason(
            code=PREEMPTED_BY_PRIORITY, queue=queue, comparisons=(_outranks(asker, victim),)
        )
    use = desk.books.later if desk.looks_later else desk.books.now
    used, least = use.used[queue], desk.books.guaranteed[queue]
    axes = desk.state.axes.axes
    over = [
        Comparison(
            queue=queue,
            axis=axis,
            left=(Term("used", used[at]),),
            relation=">",
            right=Term("min", least[at]),
        )
        for at, axis in enumerate(axes)
        if used[at] > least[at]
    ]
    below = [
        Comparison(
            queue=queue,
            axis=axis,
            left=(Term("left", used[at] - victim.charge[at]),),
            relation="<",
            right=Term("min", least[at]),
        )
        for at, axis in enumerate(axes)
        if used[at] - victim.charge[at] < least[at] <= used[at]
    ]
    code = BELOW_MIN if below else MIN_TAKEN_BACK
    return Reason(code=code, queue=queue, comparisons=(*over, *below))


def _against_min(
    desk: Desk, asker: Asker, relation: Relation, *, later: bool = False
) -> tuple[Comparison, ...]:
    queue = asker.queue
    assert queue is not None, "who has no quota has no min"
    use = desk.books.later if later else desk.books.now
    return _sums(desk, queue, use.used[queue], asker.charge, desk.books.guaranteed[queue], relation)


def _sums(
    desk: Desk,
    queue: QueueName,
    used: list[int],
    request: Amounts,
    least: Amounts,
    relation: Relation,
) -> tuple[Comparison, ...]:
    return tuple(
        Comparison(
            queue=queue,
            axis=axis,
            left=(Term("used", used[at]), Term("request", request[at])),
            relation=relation,
            right=Term("min", least[at]),
        )
        for at, axis in enumerate(desk.state.axes.axes)
        if request[at] > 0
    )


def _against_pool(desk: Desk, asker: Asker) -> list[Comparison]:
    assert asker.queue is not None, "who has no quota has no pool"
    return [
        Comparison(
            queue=asker.queue,
            axis=axis,
            left=(
                Term("used by all", desk.books.now.pool[at]),
                Term("request", asker.charge[at]),
            ),
            relation="<=",
            right=Term("all mins", desk.books.pool[at]),
        )
        for at, axis in enumerate(desk.state.axes.axes)
        if asker.charge[at] > 0
    ]


def _outranks(asker: Asker, victim: Holder) -> Comparison:
    return Comparison(
        queue=asker.workload.queue,
        axis=None,
        left=(Term("priority", asker.priority),),
        relation=">",
        right=Term("priority", victim.priority),
    )
