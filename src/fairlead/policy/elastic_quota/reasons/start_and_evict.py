"""Why a pod starts or is nominated, and why its victims are evicted, with the numbers."""

from typing import Final

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.plan import Comparison, Reason, Relation, Term
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.victims import CandidateScope
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod

WITHIN_MIN: Final = "WithinMin"
BORROWS: Final = "Borrows"
WITHOUT_QUOTA: Final = "WithoutQuota"
TAKES_BACK: Final = "TakesBack"
PREEMPTS: Final = "Preempts"
WAITS_FOR_LEAVING: Final = "WaitsForLeaving"
MIN_TAKEN_BACK: Final = "MinTakenBack"
BELOW_MIN: Final = "TakenBelowMin"
PREEMPTED_BY_PRIORITY: Final = "PreemptedByPriority"


def start_reason(context: PlanningContext, pending: PendingPod) -> Reason:
    """Return whether a pod starts within the min of its namespace, or borrows.

    Call it before the pod is started.
    """
    queue = pending.queue
    if queue is None:
        return Reason(code=WITHOUT_QUOTA)
    within = _against_min(context, pending, "<=")
    if all(each.holds() for each in within):
        return Reason(code=WITHIN_MIN, queue=queue, comparisons=within)
    over = [each for each in _against_min(context, pending, ">") if each.holds()]
    pool = _against_pool(context, pending)
    return Reason(code=BORROWS, queue=queue, comparisons=(*over, *pool))


def nomination_reason(
    context: PlanningContext,
    pending: PendingPod,
    scope: CandidateScope,
    victims: tuple[RunningPod, ...],
) -> Reason:
    """Return why a pod is nominated to a node that its victims, or terminating pods, will free."""
    if not victims:
        return Reason(code=WAITS_FOR_LEAVING, queue=pending.queue)
    if scope == "borrowers":
        within = _against_min(context, pending, "<=", after_termination=context.expects_termination)
        return Reason(code=TAKES_BACK, queue=pending.queue, comparisons=within)
    first = max(victims, key=lambda each: each.priority)
    return Reason(code=PREEMPTS, queue=pending.queue, comparisons=(_outranks(pending, first),))


def eviction_reason(
    context: PlanningContext, pending: PendingPod, scope: CandidateScope, victim: RunningPod
) -> Reason:
    """Return why *victim* is evicted for *pending*, with the numbers before the eviction."""
    queue = victim.queue
    if scope != "borrowers" or queue is None:
        return Reason(
            code=PREEMPTED_BY_PRIORITY, queue=queue, comparisons=(_outranks(pending, victim),)
        )
    use = context.quotas.after_termination if context.expects_termination else context.quotas.now
    used, least = use.used[queue], context.quotas.guaranteed[queue]
    axes = context.state.axes.axes
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
    context: PlanningContext,
    pending: PendingPod,
    relation: Relation,
    *,
    after_termination: bool = False,
) -> tuple[Comparison, ...]:
    queue = pending.queue
    assert queue is not None, "a pod without quota has no min"
    use = context.quotas.after_termination if after_termination else context.quotas.now
    return _sums(
        context, queue, use.used[queue], pending.charge, context.quotas.guaranteed[queue], relation
    )


def _sums(
    context: PlanningContext,
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
        for at, axis in enumerate(context.state.axes.axes)
        if request[at] > 0
    )


def _against_pool(context: PlanningContext, pending: PendingPod) -> list[Comparison]:
    assert pending.queue is not None, "a pod without quota uses no pool"
    return [
        Comparison(
            queue=pending.queue,
            axis=axis,
            left=(
                Term("used by all", context.quotas.now.pool[at]),
                Term("request", pending.charge[at]),
            ),
            relation="<=",
            right=Term("all mins", context.quotas.pool[at]),
        )
        for at, axis in enumerate(context.state.axes.axes)
        if pending.charge[at] > 0
    ]


def _outranks(pending: PendingPod, victim: RunningPod) -> Comparison:
    return Comparison(
        queue=pending.workload.queue,
        axis=None,
        left=(Term("priority", pending.priority),),
        relation=">",
        right=Term("priority", victim.priority),
    )
