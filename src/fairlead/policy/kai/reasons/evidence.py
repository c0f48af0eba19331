"""The numbers behind a verdict on reclaim: which queues were compared, and what they held.

A search asks for thousands of verdicts; people ask about the one that counted. So the losses of
that one are judged again here, and everything that was compared is recorded.
"""

from collections.abc import Sequence
from operator import add, sub

import msgspec

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.plan import Comparison, Relation, SideNumbers, Term
from fairlead.policy.kai.fair_share.capacity import axis_comparisons, holding
from fairlead.policy.kai.fair_share.shares import saturation
from fairlead.policy.kai.reclaimable import Loss, ReclaimJudge, Rule, Sides, Strategy, Verdict


class LossEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Why one loss was allowed; the comparisons hold."""

    loss: Loss
    strategy: Strategy
    reclaimer: SideNumbers
    victim: SideNumbers
    comparisons: tuple[Comparison, ...]


class RefusalEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Why a set of losses does not stand; the comparisons hold, and no set passes where they do.

    ``sides`` are the reclaimer's and the victim's; the guarantee compares no two queues.
    """

    rule: Rule
    queues: tuple[QueueName, ...]
    sides: tuple[SideNumbers, ...]
    comparisons: tuple[Comparison, ...]


class VerdictEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Every loss that was allowed, in the order of judging, and the refusal if there was one."""

    losses: tuple[LossEvidence, ...]
    refusal: RefusalEvidence | None


class _Holdings:
    """What queues hold after the losses so far."""

    def __init__(self, judge: ReclaimJudge) -> None:
        self._judge = judge
        self._left: dict[QueueName, Amounts] = {}

    def of(self, queue: QueueName) -> Amounts:
        return self._left.get(queue) or tuple(self._judge.allocated[queue])

    def lose(self, loss: Loss) -> None:
        for name in self._judge.state.path(loss.queue):
            self._left[name] = tuple(map(sub, self.of(name), loss.amounts))

    def with_request(self, queue: QueueName) -> Amounts:
        return tuple(map(add, self.of(queue), self._judge.reclaimer.request))


def explain_verdict(
    judge: ReclaimJudge, losses: Sequence[Loss], verdict: Verdict
) -> VerdictEvidence:
    """Return the numbers behind *verdict*, which *judge* gave on *losses*.

    Cost: that of judging, and some twenty objects for every loss.
    """
    holdings = _Holdings(judge)
    allowed = []
    for loss, strategy in zip(losses, verdict.strategies, strict=False):
        sides = judge.sides(loss.queue)
        reclaimer, victim = _sides_of_loss(judge, sides, holdings, loss)
        evidence = LossEvidence(
            loss=loss,
            strategy=strategy,
            reclaimer=reclaimer,
            victim=victim,
            comparisons=_why_allowed(judge, strategy, reclaimer, victim),
        )
        allowed.append(evidence)
    refusal = None
    match verdict.refused_by:
        case "loss":
            refusal = _refused_loss(judge, verdict, holdings, losses[len(allowed)])
        case "saturation":
            refusal = _refused_saturation(judge, verdict, holdings)
        case "guarantee":
            refusal = _refused_guarantee(judge, verdict)
    return VerdictEvidence(losses=tuple(allowed), refusal=refusal)


def _sides_of_loss(
    judge: ReclaimJudge, sides: Sides, holdings: _Holdings, loss: Loss
) -> tuple[SideNumbers, SideNumbers]:
    """Return both sides around *loss*, which is subtracted from the holdings."""
    before = holdings.of(sides.victim)
    holdings.lose(loss)
    at_start = tuple(judge.allocated[sides.reclaimer])
    return (
        _side(judge, sides.reclaimer, at_start, holdings.with_request(sides.reclaimer)),
        _side(judge, sides.victim, before, holdings.of(sides.victim)),
    )


def _side(judge: ReclaimJudge, name: QueueName, before: Amounts, after: Amounts) -> SideNumbers:
    share = judge.shares[name]
    return SideNumbers(
        queue=name,
        axes=judge.state.axes.axes,
        guaranteed=judge.state.queues[name].guaranteed,
        fair_share=share.fair_share,
        allocatable=share.allocatable,
        allocated_before=before,
        allocated_after=after,
        saturation_before=tuple(map(saturation, before, share.fair_share)),
        saturation_after=tuple(map(saturation, after, share.fair_share)),
    )


def _why_allowed(
    judge: ReclaimJudge, strategy: Strategy, reclaimer: SideNumbers, victim: SideNumbers
) -> tuple[Comparison, ...]:
    if strategy == "fairShare":
        return holding(_may_hold(judge, victim, ">"))
    is_beyond = holding(_quota_of_victim(judge, victim, ">"))
    return (*_quota_of_reclaimer(judge, reclaimer, "<="), *is_beyond)


def _refused_loss(
    judge: ReclaimJudge, verdict: Verdict, holdings: _Holdings, loss: Loss
) -> RefusalEvidence:
    """Return that neither strategy allows a loss, with the comparisons that show it."""
    reclaimer, victim = _sides_of_loss(judge, judge.sides(loss.queue), holdings, loss)
    within_quota = _quota_of_victim(judge, victim, "<=")
    return RefusalEvidence(
        rule="loss",
        queues=verdict.queues,
        sides=(reclaimer, victim),
        comparisons=(
            *_may_hold(judge, victim, "<="),
            *holding(_quota_of_reclaimer(judge, reclaimer, ">")),
            *(within_quota if all(each.holds() for each in within_quota) else ()),
        ),
    )


def _refused_saturation(
    judge: ReclaimJudge, verdict: Verdict, holdings: _Holdings
) -> RefusalEvidence:
    own, other = verdict.queues
    at = verdict.axis
    assert at is not None
    reclaimer = _side(judge, own, tuple(judge.allocated[own]), holdings.with_request(own))
    victim = _side(judge, other, tuple(judge.allocated[other]), holdings.of(other))
    full, less_full = reclaimer.saturation_after[at], victim.saturation_after[at]
    assert less_full is not None, "a side without a fair share is not compared"
    name = "saturation" if judge.multiplier == 1 else "saturation x multiplier"
    weighed = None if full is None else float(full * judge.multiplier)
    axis = judge.state.axes.axes[at]
    over = Comparison(
        queue=own,
        axis=axis,
        left=(Term("allocated after", reclaimer.allocated_after[at]),),
        relation=">",
        right=Term("fair share", reclaimer.fair_share[at]),
    )
    # Rounding to a float keeps the order of two fractions, so what was found still holds.
    no_less_full = Comparison(
        queue=own,
        axis=axis,
        left=(Term(name, weighed, own),),
        relation=">=",
        right=Term("saturation", float(less_full), other),
    )
    return RefusalEvidence(
        rule="saturation",
        queues=verdict.queues,
        sides=(reclaimer, victim),
        comparisons=(over, no_less_full),
    )


def _refused_guarantee(judge: ReclaimJudge, verdict: Verdict) -> RefusalEvidence:
    (name,) = verdict.queues
    over = axis_comparisons(
        judge.state.axes.axes,
        name,
        ("non-preemptible", judge.non_preemptible[name]),
        ">",
        ("quota", judge.state.queues[name].guaranteed),
        request=judge.reclaimer.request,
    )
    return RefusalEvidence(
        rule="guarantee", queues=verdict.queues, sides=(), comparisons=holding(over)
    )


def _may_hold(judge: ReclaimJudge, victim: SideNumbers, relation: Relation) -> list[Comparison]:
    held, most = ("allocated", victim.allocated_before), ("allocatable", victim.allocatable)
    return axis_comparisons(judge.state.axes.axes, victim.queue, held, relation, most)


def _quota_of_victim(
    judge: ReclaimJudge, victim: SideNumbers, relation: Relation
) -> list[Comparison]:
    held, quota = ("allocated", victim.allocated_before), ("quota", victim.guaranteed)
    return axis_comparisons(judge.state.axes.axes, victim.queue, held, relation, quota)


def _quota_of_reclaimer(
    judge: ReclaimJudge, side: SideNumbers, relation: Relation
) -> list[Comparison]:
    held, quota = ("allocated", side.allocated_before), ("quota", side.guaranteed)
    request = judge.reclaimer.request
    axes = judge.state.axes.axes
    return axis_comparisons(axes, side.queue, held, relation, quota, request=request)
