"""What Kueue's rules must know of earlier decisions: who preempts, and who gave way to whom.

A plan looks at the state alone, so what it has to remember is put down with the workloads.
"""

from collections.abc import Container

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Reserve
from fairlead.model.workload import GaveWay, KueueWorkload, Workload


def remember(
    workload: Workload, decision: Decision, known: Container[WorkloadName]
) -> Workload | None:
    """Return *workload* as it is after *decision* about it; None if there is nothing to remember.

    Of those to whom it gave way it remembers the ones that are still *known*.
    """
    before = workload.extension
    if not isinstance(before, KueueWorkload) or isinstance(decision, Move):
        return None
    if not isinstance(decision, Evict):
        after = replace(before, preempting=isinstance(decision, Reserve))
    elif decision.beneficiary is not None:
        gave_way = {each for each in before.gave_way if each.beneficiary in known}
        gave_way.add(GaveWay(decision.beneficiary, decision.reason.code))
        after = replace(before, gave_way=tuple(sorted(gave_way)))
    else:
        return None
    return replace(workload, extension=after) if after != before else None
