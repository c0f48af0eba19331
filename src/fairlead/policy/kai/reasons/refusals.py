"""Why a job waits: it has no turn, it may not take from others, or no victims help.

A job has no turn if no queue can run it, or if it is not ready. Of a failed search the best
scenario is reported, the first one that failed with the most pods of the preemptor: it evicted the
fewest others, those first in the eviction order.
"""

from collections import Counter
from collections.abc import Iterator, Set
from typing import Final

from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.plan import Comparison, Reason, SideNumbers, Tally, Term
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kai.fair_share.capacity import (
    NON_PREEMPTIBLE_OVER_QUOTA,
    holding,
    over_limit,
    over_quota,
)
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.reasons.evidence import RefusalEvidence, explain_verdict
from fairlead.policy.kai.reclaimable import reclaim_refusal
from fairlead.policy.kai.victims.attempt import Attempt, Judgement
from fairlead.policy.obstacles import obstacle_reason

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
    if stopped is not None or (attempt.protected and len(attempt.barred) == candidates):
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
    could_be = candidates - len(attempt.barred)
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
