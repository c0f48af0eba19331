"""Why a workload starts, waits or is evicted, with the numbers that were compared."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fairlead.fairness.elastic_pool import Excess
from fairlead.model.axes import Amounts, Axis, QueueName
from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Relation, Tally, Term
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import CandidateScope, Outcome
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.quota.usage import UsageTotals

WITHIN_MIN: Final = "WithinMin"
BORROWS: Final = "Borrows"
WITHOUT_QUOTA: Final = "WithoutQuota"
TAKES_BACK: Final = "TakesBack"
PREEMPTS: Final = "Preempts"
WAITS_FOR_LEAVING: Final = "WaitsForLeaving"
MIN_TAKEN_BACK: Final = "MinTakenBack"
BELOW_MIN: Final = "TakenBelowMin"
PREEMPTED_BY_PRIORITY: Final = "PreemptedByPriority"
NO_NODE_FITS: Final = "NoNodeFits"
BEYOND_MIN: Final = "BeyondMin"
NOBODY_BORROWS: Final = "NobodyBorrows"
NOBODY_LESS_IMPORTANT: Final = "NobodyLessImportant"
NO_ROOM_WITH_VICTIMS: Final = "NoRoomWithVictims"
PREEMPTION: Final = "preemption"

_OUTCOMES: Final[dict[Outcome, str]] = {
    "no-victims": "have no candidates",
    "does-not-fit": "have too little room even then",
    "quota": "give too little back even then",
    "error": "fail by an error of the plugin",
    "no-victim-needed": "fail by an error of the plugin",
}


def start_reason(context: PlanningContext, pending: PendingPod) -> Reason:
    """Return whether a pod starts within the min of its namespace, or borrows.

    Call it before the pod is started.
    """
    queue = pending.queue
    if queue is None:
        return Reason(code=WITHOUT_QUOTA)
    quotas = context.quotas
    used, least = quotas.now.used[queue], quotas.guaranteed[queue]
    within = _with_request(context, pending, used, "<=", ("min", least))
    if all(each.holds() for each in within):
        return Reason(code=WITHIN_MIN, queue=queue, comparisons=within)
    over = _with_request(context, pending, used, ">", ("min", least))
    pool = _with_request(
        context, pending, quotas.now.pool, "<=", ("all mins", quotas.pool), name="used by all"
    )
    borrowed = [each for each in over if each.holds()]
    return Reason(code=BORROWS, queue=queue, comparisons=(*borrowed, *pool))


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
        queue = pending.queue
        assert queue is not None, "a pod without quota has no min"
        used, least = _expected_use(context).used[queue], context.quotas.guaranteed[queue]
        within = _with_request(context, pending, used, "<=", ("min", least))
        return Reason(code=TAKES_BACK, queue=queue, comparisons=within)
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


def wait_reason(
    context: PlanningContext, pending: PendingPod, violation: QuotaViolation | None
) -> Reason:
    """Return the quota rule that rejected a pod, or what every node lacks for it."""
    if violation is None:
        return Reason(
            code=NO_NODE_FITS, queue=pending.queue, tallies=node_defects(context, pending)
        )
    assert pending.queue is not None, "only a quota rejects"
    check = context.admission.check(pending, after_termination=violation.after_termination)
    broken = context.admission.excesses(pending, check, violation.rule)
    is_max = violation.rule == OVER_MAX
    used_by = "all who stay" if violation.after_termination else "all"
    names = ("used", "max") if is_max else (f"used by {used_by}", "all mins")
    return Reason(
        code=violation.rule,
        queue=pending.queue,
        comparisons=_exceeded(context, pending.queue, names, broken),
        held=() if is_max else tuple(_borrowers(context, [each.axis for each in broken])),
    )


def failed_preemption(context: PlanningContext, preemption: PodPreemption) -> FailedClaim:
    """Return why a preemption for a pod, or for a gang as one, has just failed."""
    return FailedClaim(action=PREEMPTION, reason=_preemption_reason(context, preemption))


def _preemption_reason(context: PlanningContext, preemption: PodPreemption) -> Reason:
    queue, scope = preemption.pending.queue, preemption.scope
    if preemption.ineligible_reason() == NEVER_PREEMPTS:
        return Reason(code=NEVER_PREEMPTS, queue=queue)
    has_candidates = preemption.has_candidates()
    failures = preemption.failures() if has_candidates else Counter[Outcome]()
    tallies = () if failures is None else _tallies(context, scope, failures)
    if scope == "own namespace":
        return _beyond_min_reason(context, preemption, tallies)
    if scope == "borrowers":
        code = NO_ROOM_WITH_VICTIMS if has_candidates else NOBODY_BORROWS
    else:
        code = NO_ROOM_WITH_VICTIMS if tallies or failures is None else NOBODY_LESS_IMPORTANT
    return Reason(code=code, queue=queue, tallies=tallies)


def _beyond_min_reason(
    context: PlanningContext, preemption: PodPreemption, tallies: tuple[Tally, ...]
) -> Reason:
    """Return that a pod would take its namespace over its min, so that it may not reclaim."""
    queue = preemption.pending.queue
    assert queue is not None, "a pod without quota has no min"
    over = context.admission.beyond_min(preemption.pending, preemption.check)
    compared = _exceeded(context, queue, ("used", "min"), over)
    return Reason(code=BEYOND_MIN, queue=queue, comparisons=compared, tallies=tallies)


def _exceeded(
    context: PlanningContext, queue: QueueName, names: tuple[str, str], found: Iterable[Excess]
) -> tuple[Comparison, ...]:
    """Return comparisons of sums that exceed their bounds; *names* are those of usage and bound."""
    return tuple(
        _compared(
            queue,
            context.state.axes.axes[each.axis],
            [
                Term(names[0], each.used),
                *([Term("nominated", each.nominated)] if each.nominated else []),
                Term("request", each.request),
            ],
            ">",
            Term(names[1], each.bound),
        )
        for each in found
    )


def _borrowers(context: PlanningContext, axes: Iterable[int]) -> Iterator[Held]:
    """Yield the namespaces over their min, axis by axis, the largest borrower first."""
    for at in axes:
        held = [
            Held(
                queue=queue,
                axis=context.state.axes.axes[at],
                amount=used[at],
                borrowed=used[at] - context.quotas.guaranteed[queue][at],
            )
            for queue, used in context.quotas.now.used.items()
            if used[at] > context.quotas.guaranteed[queue][at]
        ]
        yield from sorted(held, key=lambda each: (-each.borrowed, each.queue))


def node_defects(context: PlanningContext, pending: PendingPod) -> tuple[Tally, ...]:
    """Return how many nodes lack what for a pod, the most frequent first, then how many domains."""
    found = [context.fit.defect(pending, name) or "have room" for name in context.state.nodes]
    of_nodes = _counted(Counter(found), len(context.state.nodes))
    return (*of_nodes, *context.node_filters.domain_tallies(pending))


def _tallies(
    context: PlanningContext, scope: CandidateScope, failures: Counter[Outcome]
) -> tuple[Tally, ...]:
    """Return how many nodes had which outcome; protectMin is named where it applies."""
    is_protected = context.settings.protect_min and scope == "borrowers"
    counts: Counter[str] = Counter()
    for outcome, count in failures.items():
        what = _OUTCOMES[outcome]
        if is_protected and outcome == "no-victims":
            what = "have no candidates while protectMin is on"
        counts[what] += count
    return _counted(counts, len(context.state.nodes))


def _counted(counts: Counter[str], of: int) -> tuple[Tally, ...]:
    return tuple(
        Tally(count=count, of=of, what=what)
        for what, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )


def _expected_use(context: PlanningContext) -> UsageTotals:
    """Return the usage by which a preemption is decided."""
    quotas = context.quotas
    return quotas.after_termination if context.expects_termination else quotas.now


def _with_request(
    context: PlanningContext,
    pending: PendingPod,
    used: Sequence[int],
    relation: Relation,
    bounds: tuple[str, Amounts],
    *,
    name: str = "used",
) -> tuple[Comparison, ...]:
    """Compare what is used and requested with the bounds, on each axis that is requested."""
    assert pending.queue is not None, "a pod without quota has no bound"
    bound_name, amounts = bounds
    return tuple(
        _compared(
            pending.queue,
            axis,
            [Term(name, used[at]), Term("request", pending.charge[at])],
            relation,
            Term(bound_name, amounts[at]),
        )
        for at, axis in enumerate(context.state.axes.axes)
        if pending.charge[at] > 0
    )


def _outranks(pending: PendingPod, victim: RunningPod) -> Comparison:
    own, other = Term("priority", pending.priority), Term("priority", victim.priority)
    return _compared(pending.workload.queue, None, [own], ">", other)


def _compared(
    queue: QueueName, axis: Axis | None, left: Sequence[Term], relation: Relation, right: Term
) -> Comparison:
    return Comparison(queue=queue, axis=axis, left=tuple(left), relation=relation, right=right)
