"""Why a job gets a place from others, why each victim gives way, and why a job waits.

A search tries thousands of sets of victims. Reasons are made only for the one that stands; of a
failed search the best scenario is reported, the first one that failed with the most pods of the
preemptor: it evicted the fewest others, those first in the eviction order.

A job waits because it has no turn (no queue can run it, or it is not ready), because it may not
take from others, or because no victims help.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Final

from fairlead.model.axes import Amounts, Axis, QueueName, WorkloadName
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.plan import Comparison, Reason, SideNumbers, Tally, Term
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey, Workload
from fairlead.policy.kai.fair_share.capacity import (
    NON_PREEMPTIBLE_OVER_QUOTA,
    axis_comparisons,
    holding,
    over_limit,
    over_quota,
)
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.reasons.evidence import RefusalEvidence, explain_verdict
from fairlead.policy.kai.reclaimable import Strategy, reclaim_refusal
from fairlead.policy.kai.victims.attempt import Attempt, Judgement
from fairlead.policy.kai.victims.solver import Scenario
from fairlead.policy.obstacles import obstacle_reason

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
    assert attempt.accepted is not None, "a reclaim that stands was judged"
    held = attempt.accepted.judge.allocated[queue]
    return Reason(code=RECLAIMS, queue=queue, comparisons=_within_fair_share(attempt, held))


def why_evicted(attempt: Attempt, scenario: Scenario) -> Iterator[tuple[Reason, list[PodKey]]]:
    """Yield why pods lose their place or are moved, with those that go at once."""
    if attempt.action == "reclaim":
        assert attempt.accepted is not None, "a reclaim that stands was judged"
        yield from _reclaimed(attempt, attempt.accepted, scenario)
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


QUEUE_DOES_NOT_EXIST: Final = "QueueDoesNotExist"
QUEUE_HAS_CHILDREN: Final = "QueueHasChildren"
NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
SUSPENDED: Final = "Suspended"


def misplaced(state: ClusterState, leaves: Set[QueueName]) -> Iterator[tuple[WorkloadName, Reason]]:
    """Yield the jobs that no queue can run: theirs does not exist, or is no leaf."""
    for queue in state.waited_for():
        if queue in leaves:
            continue
        reason = _why_no_leaf(state, queue)
        for name in state.waiting(queue):
            yield name, obstacle_reason(state.workloads[name]) or reason


def _why_no_leaf(state: ClusterState, queue: QueueName) -> Reason:
    path = state.path(queue)
    missing = state.queues[path[-1]].parent if path else queue
    if missing is not None:
        return Reason(code=QUEUE_DOES_NOT_EXIST, queue=missing)
    return Reason(code=QUEUE_HAS_CHILDREN, queue=queue)


def why_unready(state: ClusterState, name: WorkloadName, gang: Gang) -> Reason:
    """Return why a job in a leaf has nothing to start: it is suspended, held, gated or incomplete.

    Pods with a scheduling gate exist. Pods are missing only where these would not be enough either.
    That a job is held after a failure is the reason only if it could start something otherwise.
    """
    workload = state.workloads[name]
    if not workload.active:
        # Without an obstacle its owner suspended it, not a queue.
        return obstacle_reason(workload) or Reason(code=SUSPENDED)
    if name in state.holds.workloads and gang.next_pods(state.runs.get(name)):
        return Reason(code=HELD_AFTER_FAILURE, queue=workload.queue)
    gated = _gated_pods(workload, gang)
    there = [(group, n + gated[group.name]) for group, n in gang.incomplete(state.runs.get(name))]
    missing = tuple(
        Tally(
            count=count,
            of=group.minimum,
            things=f"pods that {group.name or 'the job'} needs",
            what="are there",
        )
        for group, count in there
        if count < group.minimum
    )
    held_back = Tally(
        count=gated.total(), of=workload.pod_count(), things="pods", what="have a scheduling gate"
    )
    if missing:
        tallies = (*missing, held_back) if gated else missing
        return Reason(code=NOT_READY, queue=workload.queue, tallies=tallies)
    return Reason(code=SCHEDULING_GATED, queue=workload.queue, tallies=(held_back,))


def _gated_pods(workload: Workload, gang: Gang) -> Counter[str]:
    """Return how many pods of each group of *gang*, by its name, have a scheduling gate."""
    names = {group.name for group in gang.groups}
    gated: Counter[str] = Counter()
    for each in workload.pod_sets:
        if each.gated:
            gated[each.sub_group if each.sub_group in names else ""] += each.count
    return gated


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


def why_not_admitted(attempt: Attempt) -> Reason | None:
    """Return why a job may not take from others; None if it may, as `Attempt.is_admitted` says."""
    world, workload = attempt.context, attempt.workload
    match attempt.action:
        case "consolidation":
            if not workload.preemptible:
                return Reason(code=NOT_PREEMPTIBLE, queue=workload.queue)
            need = _needed_gpus(attempt)
            too_few = Reason(code=TOO_FEW_FREE_GPUS, queue=workload.queue, comparisons=need)
            return too_few if need else None
        case "reclaim":
            share = world.shares[workload.queue]
            return reclaim_refusal(
                world.state, share, attempt.request, preemptible=workload.preemptible
            )
        case "preempt":
            lowest = world.candidates.lowest_priority(workload.queue)
            if lowest is None or lowest >= workload.priority:
                return _nobody_less_important(attempt, lowest)
            if workload.preemptible:
                return None
            return over_quota(world.state, attempt.path, attempt.request)


def why_failed(
    attempt: Attempt,
    candidates: int,
    most: int | None = None,
    *,
    has_new: bool = False,
    has_held: bool = False,
) -> Reason:
    """Return what stopped an attempt that was admitted, with so many *candidates*.

    At most *most* of them may be evicted; None: all. *has_new*: others were left out because they
    have just started; *has_held*: because they are held after a failure.
    """
    stopped = attempt.refused
    judged = attempt.kept_by if stopped is None else stopped.judgement
    if judged is not None:
        return _refused(attempt, judged)
    if stopped is not None and attempt.action == "consolidation":
        jobs = {job for job, _ in stopped.scenario.lost}
        asked = {group.job for group in stopped.scenario.evicted}
        what = "would find no other place"
        tally = Tally(count=len(jobs), of=len(asked), things="jobs to be moved", what=what)
        return Reason(code=NOT_ALL_CAN_MOVE, queue=attempt.workload.queue, tallies=(tally,))
    tallies = (_spared(attempt, candidates),) if len(attempt.protected) > 1 else ()
    if stopped is not None or (attempt.protected and len(attempt.fully_protected) == candidates):
        return _protected(attempt, tallies)
    queue = attempt.workload.queue
    limited = over_limit(attempt.context.state, attempt.path, attempt.request)
    if limited is not None:  # and no victim changes that enough
        return limited
    if candidates == 0:
        which = _ASKED[attempt.action]
        others = [
            *(["have just got a place"] if has_new else []),
            *(["are held after a failure"] if has_held else []),
        ]
        if others:
            which = f"{which}, but for those that {' or '.join(others)}"
        return Reason(code=NOBODY_TO_ASK, queue=queue, names=(which,))
    could_be = candidates - len(attempt.fully_protected)
    asked_of = Tally(
        count=could_be if most is None else min(could_be, most),
        of=candidates,
        things=_ASKED[attempt.action],
        what="could be asked",
    )
    return Reason(
        code=NO_ROOM_WITH_VICTIMS,
        queue=queue,
        comparisons=_needed_gpus(attempt),
        tallies=(asked_of, *tallies),
    )


def _protected(attempt: Attempt, tallies: tuple[Tally, ...]) -> Reason:
    """Return which job is protected, the one with the shortest time left."""
    remaining_ms, job = min((left_ms, job) for job, left_ms in attempt.protected.items())
    return Reason(
        code=PROTECTED_BY_MIN_RUNTIME,
        queue=attempt.context.state.workloads[job].queue,
        names=(job,),
        tallies=tallies,
        remaining_ms=remaining_ms,
    )


def _spared(attempt: Attempt, candidates: int) -> Tally:
    return Tally(
        count=len(attempt.protected),
        of=candidates,
        things=_ASKED[attempt.action],
        what="are protected by a minimum run time",
    )


def _refused(attempt: Attempt, judged: Judgement) -> Reason:
    """Return the refusal of a judge with its numbers, for what the preemptor requests."""
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
                comparisons=(*_needed_gpus(attempt), *_kept(attempt, refusal)),
                sides=refusal.sides,
            )


def _kept(attempt: Attempt, refusal: RefusalEvidence) -> tuple[Comparison, ...]:
    """Return why the victim's side may keep what it has: how much of it is preemptible."""
    asked = {axis for axis, more in zip(_axes(attempt), attempt.request, strict=True) if more > 0}
    return tuple(
        [
            _with_preemptible(attempt, refusal.sides[1], each)
            for each in refusal.comparisons
            if each.axis in asked
        ]
    )


def _with_preemptible(attempt: Attempt, victim: SideNumbers, kept: Comparison) -> Comparison:
    """Split what a side holds into its preemptible part and the rest, where it has a bound."""
    if kept.queue != victim.queue or kept.right.name != "allocatable":
        return kept
    at = victim.axes.index(kept.axis) if kept.axis else 0
    for_good = attempt.context.state.sums[victim.queue].non_preemptible[at]
    rest = victim.allocated_before[at] - for_good
    left = (Term("preemptible", rest), *((Term("non-preemptible", for_good),) if for_good else ()))
    return Comparison(
        queue=kept.queue, axis=kept.axis, left=left, relation=kept.relation, right=kept.right
    )


def _needed_gpus(attempt: Attempt) -> tuple[Comparison, ...]:
    """Return that fewer GPUs are or will be free than the job requests, if that is so."""
    at = attempt.context.state.axes.index("gpu")
    if at is None:
        return ()
    need = Comparison(
        queue=attempt.workload.queue,
        axis=_axes(attempt)[at],
        left=(Term("request", attempt.request[at], attempt.workload.queue),),
        relation=">",
        right=Term("free in the cluster", attempt.context.gpu_later()),
    )
    return holding((need,))


def _nobody_less_important(attempt: Attempt, lowest: int | None) -> Reason:
    workload = attempt.workload
    compared = Comparison(
        queue=workload.queue,
        axis=None,
        left=(Term("priority", workload.priority),),
        relation="<=",
        right=Term("lowest priority", lowest),
    )
    comparisons = () if lowest is None else (compared,)
    return Reason(code=NOBODY_LESS_IMPORTANT, queue=workload.queue, comparisons=comparisons)


def _axes(attempt: Attempt) -> tuple[Axis, ...]:
    return attempt.context.state.axes.axes
