"""What Kueue's rules must know of earlier decisions: who preempts, and who gave way when."""

from collections.abc import Mapping

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import GaveWay, KueueMemory, Memory, Promise
from fairlead.model.plan import Decision, Evict, Move, Reserve
from fairlead.model.workload import KueueWorkload, Workload


def remember(
    workload: Workload,
    memory: Memory | None,
    decision: Decision,
    known: Mapping[WorkloadName, Workload],
    now_ms: int,
) -> KueueMemory | None:
    """Return what is remembered after a *decision* of *now_ms* instead of *memory*; None: the same.

    Of those to whom *workload* gave way, the ones are remembered that are still *known*.
    """
    if not isinstance(workload.extension, KueueWorkload) or isinstance(decision, Move):
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
    """Return the one to whom a workload gave way; None if it is not there any more."""
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
    """Return what is promised; it is *known* for whom it waits if it was promised before.

    Later it may wait for others as well, who were not told to leave for it.
    """
    latest = _promise(workload, decision)
    is_same = known is not None and (known.flavors, known.counts) == (latest.flavors, latest.counts)
    return known if known is not None and is_same else latest


def _promise(workload: Workload, decision: Reserve) -> Promise:
    counts = [0] * len(workload.pod_sets)
    for place in decision.placements:
        counts[workload.pod_sets.set_index[place.pod]] += 1
    return Promise(flavors=decision.flavors, counts=tuple(counts), waits_for=decision.waits_for)
