"""What a decision leaves to be remembered of its workload, and when that is forgotten."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from fairlead.model.accounting.pod_sums import count_by_set
from fairlead.model.axes import WorkloadName
from fairlead.model.events import MemoryChanged
from fairlead.model.memory import ElasticMemory, GaveWay, KueueMemory, Memory, Promise
from fairlead.model.plan import Decision, Evict, Move, Reason, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, KueueWorkload, PodId, Workload

_NO_REASON: Final = Reason(code="")
_REMEMBERED: Final = frozenset({Reserve, Evict})


def remember_decision(state: ClusterState, decision: Decision, now_ms: int) -> None:
    """Change what *state* remembers of a workload as a *decision* of *now_ms* about it says."""
    if type(decision) not in _REMEMBERED and decision.workload not in state.promised:
        return  # nothing is to be remembered, and nothing to be forgotten
    name = decision.workload
    workload, before = state.workloads[name], state.memories.get(name)
    after = memory_after(workload, before, decision, state.workloads, now_ms)
    if after is not None:
        state.apply(MemoryChanged(name, after))


def forget_promises(state: ClusterState, changes: Iterable[Decision], now_ms: int) -> None:
    """End the promises to workloads of which *changes*, just carried out, say nothing.

    Of a workload of which some pods started, and to which nothing is promised anew, the other pods
    wait like any.

    Law: to carry out a plan without its waits, and then this, is to carry out the plan. Cost: a
    look at each workload to which something was promised.
    """
    if not state.promised:
        return
    promised = {each.workload for each in changes if isinstance(each, Reserve)}
    started = {each.workload for each in changes if isinstance(each, Start)}
    left = [
        name
        for name in state.promised
        if name not in promised and (name not in started or _has_more_to_start(state, name))
    ]
    for name in left:
        remember_decision(state, Wait(workload=name, reason=_NO_REASON), now_ms)


def _has_more_to_start(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether a pod has no place that a plan would have tried."""
    workload, run = state.workloads[name], state.runs.get(name)
    placed = count_by_set(workload, list(run.pods) if run else [])
    sets = zip(workload.pod_sets, placed, strict=True)
    return any(count < each.count and not each.gated for each, count in sets)


def memory_after(
    workload: Workload,
    memory: Memory | None,
    decision: Decision,
    known: Mapping[WorkloadName, Workload],
    now_ms: int,
) -> Memory | None:
    """Return what replaces *memory* after a *decision* of *now_ms*; None: nothing does.

    *known* are all workloads of the state.
    """
    match workload.extension:
        case KueueWorkload():
            return _after_kueue(workload, memory, decision, known, now_ms)
        case ElasticPods():
            return _after_elastic_quota(memory, decision, now_ms)
        case _:
            return None


def _after_kueue(
    workload: Workload,
    memory: Memory | None,
    decision: Decision,
    known: Mapping[WorkloadName, Workload],
    now_ms: int,
) -> KueueMemory | None:
    """Remember which workloads preempted this one, as long as they exist, and what it awaits."""
    if isinstance(decision, Move):
        return None
    before = memory if isinstance(memory, KueueMemory) else KueueMemory()
    if isinstance(decision, Evict):
        after = _after_loss(before, decision, known, now_ms)
    elif isinstance(decision, Reserve):
        after = replace(before, preempting=True, promise=_kept(before.promise, workload, decision))
    else:
        after = replace(before, preempting=False, promise=None)
    return after if after != before else None


def gave_way_to(each: GaveWay, known: Mapping[WorkloadName, Workload]) -> Workload | None:
    """Return the workload that preempted this one; None if it does not exist any more."""
    found = known.get(each.beneficiary)
    is_same = found is not None and each.created_ms in (None, found.created_ms)
    return found if is_same else None


def _after_loss(
    before: KueueMemory, decision: Evict, known: Mapping[WorkloadName, Workload], now_ms: int
) -> KueueMemory:
    if decision.beneficiary is None:
        return before
    gave_way = {each for each in before.gave_way if gave_way_to(each, known)}
    beneficiary = known.get(decision.beneficiary)
    latest = GaveWay(
        decision.beneficiary,
        decision.reason.code,
        decision.by_own_quota,
        None if beneficiary is None else beneficiary.created_ms,
    )
    return replace(before, gave_way=tuple(sorted(gave_way | {latest})), preempted_ms=now_ms)


def _kept(known: Promise | None, workload: Workload, decision: Reserve) -> Promise:
    """Return the promise; one that is *known* already keeps the workloads that it waits for.

    A later plan may also wait for workloads that leave for another reason.
    """
    latest = _promise(workload, decision)
    is_same = known is not None and (known.flavors, known.counts) == (latest.flavors, latest.counts)
    return known if known is not None and is_same else latest


def _promise(workload: Workload, decision: Reserve) -> Promise:
    counts = [0] * len(workload.pod_sets)
    for place in decision.placements:
        counts[workload.pod_sets.set_index[place.pod]] += 1
    return Promise(flavors=decision.flavors, counts=tuple(counts), waits_for=decision.waits_for)


def _after_elastic_quota(
    memory: Memory | None, decision: Decision, now_ms: int
) -> ElasticMemory | None:
    """Remember which pods are nominated to which nodes, and since when.

    Pods that start are nominated no more. A reservation nominates all others. A plan decides about
    every workload that waits, so a wait without a reservation ends the nomination.
    """
    if isinstance(decision, Evict | Move):
        return None
    before = memory if isinstance(memory, ElasticMemory) else ElasticMemory()
    nominated: dict[PodId, str] = {}
    if isinstance(decision, Reserve):
        nominated = {each.pod: each.node for each in decision.placements if each.node is not None}
    elif isinstance(decision, Start):
        started = {each.pod for each in decision.placements}
        nominated = {pod: node for pod, node in before.nominated.items() if pod not in started}
    since_ms = before.nominated_ms
    if not nominated:
        since_ms = None
    elif not before.nominated or since_ms is None:
        since_ms = now_ms
    after = ElasticMemory(nominated=nominated, nominated_ms=since_ms)
    return after if after != before else None
