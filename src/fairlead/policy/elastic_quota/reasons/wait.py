"""Why a pod waits: what rejected it, and why it could not preempt either."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from fairlead.fairness.elastic_pool import Excess
from fairlead.model.axes import QueueName
from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Tally, Term
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import Outcome
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, QuotaCheck, QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod

NO_NODE_FITS: Final = "NoNodeFits"
UNSUPPORTED_CONSTRAINT: Final = "UnsupportedConstraint"
BEYOND_MIN: Final = "BeyondMin"
NOBODY_BORROWS: Final = "NobodyBorrows"
NOBODY_LESS_IMPORTANT: Final = "NobodyLessImportant"
NO_ROOM_WITH_VICTIMS: Final = "NoRoomWithVictims"
PREEMPTION: Final = "preemption"

_OUTCOMES: Final[dict[Outcome, str]] = {
    "no-victims": "have nobody who may be asked",
    "does-not-fit": "have too little room even then",
    "quota": "give too little back even then",
    "error": "are lost to an error of the plugin",
    "no-victim-needed": "are lost to an error of the plugin",
}


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
        comparisons=_compared(context, pending.queue, names, broken),
        held=() if is_max else tuple(_borrowers(context, [each.axis for each in broken])),
    )


def failed_preemption(context: PlanningContext, preemption: PodPreemption) -> FailedClaim:
    """Return why a pod's preemption has just failed."""
    return FailedClaim(action=PREEMPTION, reason=_preemption_reason(context, preemption))


def _preemption_reason(context: PlanningContext, preemption: PodPreemption) -> Reason:
    pending = preemption.pending
    if preemption.ineligible_reason() == NEVER_PREEMPTS:
        return Reason(code=NEVER_PREEMPTS, queue=pending.queue)
    if preemption.scope == "borrowers":
        if not preemption.has_candidates():
            return Reason(code=NOBODY_BORROWS, queue=pending.queue)
        return Reason(
            code=NO_ROOM_WITH_VICTIMS,
            queue=pending.queue,
            tallies=_tallies(context, preemption),
        )
    tallies: tuple[Tally, ...] = ()
    if preemption.has_candidates():
        tallies = _tallies(context, preemption)
    if preemption.scope == "without quota":
        code = NO_ROOM_WITH_VICTIMS if tallies else NOBODY_LESS_IMPORTANT
        return Reason(code=code, tallies=tallies)
    return beyond_min_reason(context, pending, preemption.check, tallies)


def beyond_min_reason(
    context: PlanningContext,
    pending: PendingPod,
    check: QuotaCheck,
    tallies: tuple[Tally, ...] = (),
) -> Reason:
    """Return that a pod would take its namespace over its min, so that it may not reclaim."""
    assert pending.queue is not None, "a pod without quota has no min"
    over = context.admission.beyond_min(pending, check)
    compared = _compared(context, pending.queue, ("used", "min"), over)
    return Reason(code=BEYOND_MIN, queue=pending.queue, comparisons=compared, tallies=tallies)


def _compared(
    context: PlanningContext, queue: QueueName, names: tuple[str, str], found: Iterable[Excess]
) -> tuple[Comparison, ...]:
    """Return comparisons of sums that exceed their bounds; *names* are those of usage and bound."""
    return tuple(
        Comparison(
            queue=queue,
            axis=context.state.axes.axes[each.axis],
            left=(
                Term(names[0], each.used),
                *([Term("nominated", each.nominated)] if each.nominated else []),
                Term("request", each.request),
            ),
            relation=">",
            right=Term(names[1], each.bound),
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
    """Return how many nodes lack what for a pod, the most frequent first."""
    found = [context.fit.defect(pending, name) or "have room" for name in context.state.nodes]
    return _counted(Counter(found), len(context.state.nodes))


def _tallies(context: PlanningContext, preemption: PodPreemption) -> tuple[Tally, ...]:
    """Return how many nodes had which outcome; protectMin is named where it applies."""
    is_protected = context.settings.protect_min and preemption.scope == "borrowers"
    counts: Counter[str] = Counter()
    for outcome, count in preemption.failures().items():
        what = _OUTCOMES[outcome]
        if is_protected and outcome == "no-victims":
            what = "have nobody who may be asked while protectMin is on"
        counts[what] += count
    return _counted(counts, len(context.state.nodes))


def _counted(counts: Counter[str], of: int) -> tuple[Tally, ...]:
    return tuple(
        Tally(count=count, of=of, what=what)
        for what, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
