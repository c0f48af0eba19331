"""Why a claim was granted: by what right the claimant gains, and why each of the others gives way.

A search tries thousands of sets of victims and tells nothing about them. Only of the one that
stands the numbers are written down, here.
"""

from collections.abc import Iterator, Sequence, Set
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.model.workload import PodKey, Workload
from fairlead.policy.kai.axis_comparisons import axis_comparisons
from fairlead.policy.kai.claims import Claim, Judged
from fairlead.policy.kai.reclaim_evidence import explain_verdict
from fairlead.policy.kai.reclaim_judge import Strategy
from fairlead.policy.kai.victim_search import Tried

RECLAIMS: Final = "Reclaims"
PREEMPTS: Final = "Preempts"
CONSOLIDATES: Final = "Consolidates"
RECLAIMED_BY_FAIR_SHARE: Final = "ReclaimedByFairShare"
RECLAIMED_BY_QUOTA: Final = "ReclaimedByQuota"
PREEMPTED_BY_PRIORITY: Final = "PreemptedByPriority"
CONSOLIDATED: Final = "Consolidated"
MOVED_ALONG: Final = "MovedAlong"

_RECLAIMED: Final[dict[Strategy, str]] = {
    "fairShare": RECLAIMED_BY_FAIR_SHARE,
    "quota": RECLAIMED_BY_QUOTA,
}


def reason_to_gain(claim: Claim, tried: Tried) -> Reason:
    """Return by what right the claimant has its place; *tried* is what it came to."""
    queue = claim.workload.queue
    if claim.action == "consolidation":
        return Reason(code=CONSOLIDATES, queue=queue)
    if claim.action == "preempt":
        workloads = claim.world.state.workloads
        asked = {workloads[group.job].priority: workloads[group.job] for group in tried.asked}
        first = tuple(_outranked(claim.workload, asked[each]) for each in sorted(asked)[-1:])
        return Reason(code=PREEMPTS, queue=queue, comparisons=first)
    assert claim.stood is not None, "a reclaim that stands was judged"
    held = claim.stood.judge.allocated[queue]
    return Reason(code=RECLAIMS, queue=queue, comparisons=_within_fair_share(claim, held))


def reasons_to_lose(claim: Claim, tried: Tried) -> Iterator[tuple[Reason, list[PodKey]]]:
    """Yield why pods of others lose their place or get another, those together that go at once."""
    if claim.action == "reclaim":
        assert claim.stood is not None, "a reclaim that stands was judged"
        yield from _reclaimed(claim, claim.stood, tried)
    else:
        yield from _preempted(claim, tried)
    workloads = claim.world.state.workloads
    for pods, code in ((tried.moved, CONSOLIDATED), (tried.joined, MOVED_ALONG)):
        for job in sorted({job for job, _ in pods}):
            yield Reason(code=code, queue=workloads[job].queue), _of_job(workloads[job], pods)


def _reclaimed(claim: Claim, judged: Judged, tried: Tried) -> Iterator[tuple[Reason, list[PodKey]]]:
    """Tell each loss with the two sides around it. One that was only moved is told as that."""
    evidence = explain_verdict(judged.judge, judged.losses, judged.verdict)
    for (job, piece), loss in zip(claim.pieces(tried), evidence.losses, strict=True):
        pods = [(job, pod) for pod, _ in piece if (job, pod) in tried.lost]
        if pods:
            reason = Reason(
                code=_RECLAIMED[loss.strategy],
                queue=loss.victim.queue,
                comparisons=loss.comparisons,
                sides=(loss.reclaimer, loss.victim),
            )
            yield reason, pods


def _preempted(claim: Claim, tried: Tried) -> Iterator[tuple[Reason, list[PodKey]]]:
    for job in sorted({job for job, _ in tried.lost}):
        victim = claim.world.state.workloads[job]
        compared = (_outranked(claim.workload, victim),)
        reason = Reason(code=PREEMPTED_BY_PRIORITY, queue=victim.queue, comparisons=compared)
        yield reason, _of_job(victim, tried.lost)


def _outranked(claimant: Workload, victim: Workload) -> Comparison:
    return Comparison(
        queue=claimant.queue,
        axis=None,
        left=(Term("priority", claimant.priority),),
        relation=">",
        right=Term("priority", victim.priority),
    )


def _within_fair_share(claim: Claim, held: Sequence[int]) -> tuple[Comparison, ...]:
    """Return, for what the claimant asks for, that its queue stays within its fair share."""
    queue, request = claim.workload.queue, claim.request
    bounds: tuple[str, Amounts] = ("fair share", claim.world.shares[queue].fair_share)
    axes = claim.world.state.axes.axes
    every = axis_comparisons(axes, queue, ("allocated", held), "<=", bounds, request=request)
    return tuple([each for each, more in zip(every, request, strict=True) if more > 0])


def _of_job(workload: Workload, pods: Set[PodKey]) -> list[PodKey]:
    own = [pod for job, pod in pods if job == workload.name]
    return [(workload.name, pod) for pod in workload.pod_sets.in_order(own)]
