"""Why an attempt succeeded: what entitles the preemptor, and why each victim gives way.

A search tries thousands of sets of victims. Reasons are made only for the one that stands.
"""

from collections.abc import Iterator, Sequence, Set
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.model.workload import PodKey, Workload
from fairlead.policy.kai.fair_share.capacity import axis_comparisons
from fairlead.policy.kai.reasons.evidence import explain_verdict
from fairlead.policy.kai.reclaimable import Strategy
from fairlead.policy.kai.victims.attempt import Attempt, Judgement
from fairlead.policy.kai.victims.solver import Scenario

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


def why_granted(attempt: Attempt, scenario: Scenario) -> Reason:
    """Return what entitles the preemptor to its place by *scenario*."""
    queue = attempt.workload.queue
    if attempt.action == "consolidation":
        return Reason(code=CONSOLIDATES, queue=queue)
    if attempt.action == "preempt":
        workloads = attempt.context.state.workloads
        asked = {workloads[group.job].priority: workloads[group.job] for group in scenario.evicted}
        first = tuple(_outranked(attempt.workload, asked[each]) for each in sorted(asked)[-1:])
        return Reason(code=PREEMPTS, queue=queue, comparisons=first)
    assert attempt.stood is not None, "a reclaim that stands was judged"
    held = attempt.stood.judge.allocated[queue]
    return Reason(code=RECLAIMS, queue=queue, comparisons=_within_fair_share(attempt, held))


def why_evicted(attempt: Attempt, scenario: Scenario) -> Iterator[tuple[Reason, list[PodKey]]]:
    """Yield why pods lose their place or are moved, with those that go at once."""
    if attempt.action == "reclaim":
        assert attempt.stood is not None, "a reclaim that stands was judged"
        yield from _reclaimed(attempt, attempt.stood, scenario)
    else:
        yield from _preempted(attempt, scenario)
    workloads = attempt.context.state.workloads
    for pods, code in ((scenario.moved, CONSOLIDATED), (scenario.joined, MOVED_ALONG)):
        for job in sorted({job for job, _ in pods}):
            yield Reason(code=code, queue=workloads[job].queue), _of_job(workloads[job], pods)


def _reclaimed(
    attempt: Attempt, judged: Judgement, scenario: Scenario
) -> Iterator[tuple[Reason, list[PodKey]]]:
    """Yield each loss with the two sides around it. A pod that is only moved is not among them."""
    evidence = explain_verdict(judged.judge, judged.losses, judged.verdict)
    for (job, piece), loss in zip(attempt.losses(scenario), evidence.losses, strict=True):
        pods = [(job, pod) for pod, _ in piece if (job, pod) in scenario.lost]
        if pods:
            reason = Reason(
                code=_RECLAIMED[loss.strategy],
                queue=loss.victim.queue,
                comparisons=loss.comparisons,
                sides=(loss.reclaimer, loss.victim),
            )
            yield reason, pods


def _preempted(attempt: Attempt, scenario: Scenario) -> Iterator[tuple[Reason, list[PodKey]]]:
    for job in sorted({job for job, _ in scenario.lost}):
        victim = attempt.context.state.workloads[job]
        compared = (_outranked(attempt.workload, victim),)
        reason = Reason(code=PREEMPTED_BY_PRIORITY, queue=victim.queue, comparisons=compared)
        yield reason, _of_job(victim, scenario.lost)


def _outranked(preemptor: Workload, victim: Workload) -> Comparison:
    return Comparison(
        queue=preemptor.queue,
        axis=None,
        left=(Term("priority", preemptor.priority),),
        relation=">",
        right=Term("priority", victim.priority),
    )


def _within_fair_share(attempt: Attempt, held: Sequence[int]) -> tuple[Comparison, ...]:
    """Return, for what the preemptor requests, that its queue stays within its fair share."""
    queue, request = attempt.workload.queue, attempt.request
    bounds: tuple[str, Amounts] = ("fair share", attempt.context.shares[queue].fair_share)
    axes = attempt.context.state.axes.axes
    every = axis_comparisons(axes, queue, ("allocated", held), "<=", bounds, request=request)
    return tuple([each for each, more in zip(every, request, strict=True) if more > 0])


def _of_job(workload: Workload, pods: Set[PodKey]) -> list[PodKey]:
    own = [pod for job, pod in pods if job == workload.name]
    return [(workload.name, pod) for pod in workload.pod_sets.in_order(own)]
