"""Why a job cannot take a place from others: it may not claim, or no set of victims may stand.

The best attempt is told, which is the first one that failed with the most pods of the claimant: it
asked the fewest others, those who are first to give way.
"""

from typing import Final

from fairlead.model.axes import Axis
from fairlead.model.plan import Comparison, Reason, SideNumbers, Tally, Term
from fairlead.policy.kai.axis_comparisons import those_that_hold
from fairlead.policy.kai.claims import Claim, Judged
from fairlead.policy.kai.gates import NON_PREEMPTIBLE_OVER_QUOTA, over_limit, over_quota
from fairlead.policy.kai.reclaim_evidence import RefusalEvidence, explain_verdict
from fairlead.policy.kai.reclaim_gate import reclaim_refusal

NOT_PREEMPTIBLE: Final = "NotPreemptible"
TOO_FEW_FREE_GPUS: Final = "TooFewFreeGpus"
NOBODY_LESS_IMPORTANT: Final = "NobodyLessImportant"
NOBODY_TO_ASK: Final = "NobodyToAsk"
NO_ROOM_WITH_VICTIMS: Final = "NoRoomWithVictims"
WITHIN_ITS_SHARE: Final = "WithinItsShare"
WOULD_BE_FULLER: Final = "WouldBeFuller"
NOT_ALL_CAN_MOVE: Final = "NotAllCanMove"
PROTECTED_BY_MIN_RUNTIME: Final = "ProtectedByMinRuntime"

_ASKED: Final = {
    "consolidation": "jobs that could move",
    "reclaim": "jobs of other queues that can be preempted",
    "preempt": "jobs of its queue with a lower priority",
}


def why_not_admitted(claim: Claim) -> Reason | None:
    """Return why a job may not claim at all; None if it may, as `Claim.is_admitted` says."""
    world, workload = claim.world, claim.workload
    match claim.action:
        case "consolidation":
            if not workload.preemptible:
                return Reason(code=NOT_PREEMPTIBLE, queue=workload.queue)
            need = _needed_gpus(claim)
            too_few = Reason(code=TOO_FEW_FREE_GPUS, queue=workload.queue, comparisons=need)
            return too_few if need else None
        case "reclaim":
            share = world.shares[workload.queue]
            return reclaim_refusal(
                world.state, share, claim.request, preemptible=workload.preemptible
            )
        case "preempt":
            lowest = world.lowest_priority(workload.queue)
            if lowest is None or lowest >= workload.priority:
                return _nobody_less_important(claim, lowest)
            if workload.preemptible:
                return None
            return over_quota(world.state, claim.path, claim.request)


def why_failed(
    claim: Claim,
    candidates: int,
    most: int | None = None,
    *,
    has_new: bool = False,
    has_held: bool = False,
) -> Reason:
    """Return what stopped a claim that was admitted, with so many *candidates* to give way.

    No more than *most* of them were asked; None: all. *has_new*: others are not asked because they
    have just come; *has_held*: because they are held after a failure.
    """
    stopped = claim.stopped
    judged = claim.kept_by if stopped is None else stopped.judged
    if judged is not None:
        return _refused(claim, judged)
    if stopped is not None and claim.action == "consolidation":
        jobs = {job for job, _ in stopped.tried.lost}
        asked = {group.job for group in stopped.tried.asked}
        what = "would find no other place"
        tally = Tally(count=len(jobs), of=len(asked), things="jobs to be moved", what=what)
        return Reason(code=NOT_ALL_CAN_MOVE, queue=claim.workload.queue, tallies=(tally,))
    tallies = (_spared(claim, candidates),) if len(claim.spared) > 1 else ()
    if stopped is not None or (claim.spared and len(claim.barred) == candidates):
        return _protected(claim, tallies)
    queue = claim.workload.queue
    limited = over_limit(claim.world.state, claim.path, claim.request)
    if limited is not None:  # and whoever leaves does not change that enough
        return limited
    if candidates == 0:
        who = _ASKED[claim.action]
        others = [
            *(["have just got a place"] if has_new else []),
            *(["are held after a failure"] if has_held else []),
        ]
        if others:
            who = f"{who}, but for those that {' or '.join(others)}"
        return Reason(code=NOBODY_TO_ASK, queue=queue, names=(who,))
    could_be = candidates - len(claim.barred)
    asked_of = Tally(
        count=could_be if most is None else min(could_be, most),
        of=candidates,
        things=_ASKED[claim.action],
        what="could be asked",
    )
    return Reason(
        code=NO_ROOM_WITH_VICTIMS,
        queue=queue,
        comparisons=_needed_gpus(claim),
        tallies=(asked_of, *tallies),
    )


def _protected(claim: Claim, tallies: tuple[Tally, ...]) -> Reason:
    """Tell who is protected, by the one that is so for the shortest time."""
    remaining_ms, job = min((left_ms, job) for job, left_ms in claim.spared.items())
    return Reason(
        code=PROTECTED_BY_MIN_RUNTIME,
        queue=claim.world.state.workloads[job].queue,
        names=(job,),
        tallies=tallies,
        remaining_ms=remaining_ms,
    )


def _spared(claim: Claim, candidates: int) -> Tally:
    return Tally(
        count=len(claim.spared),
        of=candidates,
        things=_ASKED[claim.action],
        what="are protected by a minimum run time",
    )


def _refused(claim: Claim, judged: Judged) -> Reason:
    """Tell the refusal of a judge with its numbers, of what the claimant asks for."""
    refusal = explain_verdict(judged.judge, judged.losses, judged.verdict).refusal
    assert refusal is not None, "what was stopped was refused"
    match refusal.rule:
        case "guarantee":
            return Reason(
                code=NON_PREEMPTIBLE_OVER_QUOTA,
                queue=refusal.queues[0],
                comparisons=refusal.comparisons,
            )
        case "saturation":
            return Reason(
                code=WOULD_BE_FULLER,
                queue=refusal.queues[1],
                comparisons=refusal.comparisons,
                sides=refusal.sides,
            )
        case "loss":
            return Reason(
                code=WITHIN_ITS_SHARE,
                queue=refusal.queues[1],
                comparisons=(*_needed_gpus(claim), *_kept(claim, refusal)),
                sides=refusal.sides,
            )


def _kept(claim: Claim, refusal: RefusalEvidence) -> tuple[Comparison, ...]:
    """Return why the victim's side may keep what it has: how much of it could be asked for."""
    asked = {axis for axis, more in zip(_axes(claim), claim.request, strict=True) if more > 0}
    return tuple(
        [
            _with_preemptible(claim, refusal.sides[1], each)
            for each in refusal.comparisons
            if each.axis in asked
        ]
    )


def _with_preemptible(claim: Claim, victim: SideNumbers, kept: Comparison) -> Comparison:
    """Tell of what a side holds which part can be preempted, where it is held against a bound."""
    if kept.queue != victim.queue or kept.right.name != "allocatable":
        return kept
    at = victim.axes.index(kept.axis) if kept.axis else 0
    for_good = claim.world.state.sums[victim.queue].non_preemptible[at]
    rest = victim.allocated_before[at] - for_good
    left = (Term("preemptible", rest), *((Term("non-preemptible", for_good),) if for_good else ()))
    return Comparison(
        queue=kept.queue, axis=kept.axis, left=left, relation=kept.relation, right=kept.right
    )


def _needed_gpus(claim: Claim) -> tuple[Comparison, ...]:
    """Return that fewer GPUs are or will be free than the job asks for, if that is so."""
    at = claim.world.state.axes.index("gpu")
    if at is None:
        return ()
    need = Comparison(
        queue=claim.workload.queue,
        axis=_axes(claim)[at],
        left=(Term("request", claim.request[at], claim.workload.queue),),
        relation=">",
        right=Term("free in the cluster", claim.world.gpu_later()),
    )
    return those_that_hold((need,))


def _nobody_less_important(claim: Claim, lowest: int | None) -> Reason:
    workload = claim.workload
    compared = Comparison(
        queue=workload.queue,
        axis=None,
        left=(Term("priority", workload.priority),),
        relation="<=",
        right=Term("lowest priority", lowest),
    )
    comparisons = () if lowest is None else (compared,)
    return Reason(code=NOBODY_LESS_IMPORTANT, queue=workload.queue, comparisons=comparisons)


def _axes(claim: Claim) -> tuple[Axis, ...]:
    return claim.world.state.axes.axes
