"""What a decision leaves to be remembered of its workload, and when that is forgotten."""

from collections.abc import Iterable
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.elastic_memory import remember_nominations
from fairlead.model.events import MemoryChanged
from fairlead.model.kueue_memory import remember
from fairlead.model.plan import Decision, Evict, Reason, Reserve, Start, Wait
from fairlead.model.pod_sums import count_by_set
from fairlead.model.state import ClusterState

_NOT_TOLD: Final = Reason(code="")
_REMEMBERED: Final = frozenset({Reserve, Evict})


def remember_decision(state: ClusterState, decision: Decision, now_ms: int) -> None:
    """Change what *state* remembers of a workload as a *decision* of *now_ms* about it says."""
    if type(decision) not in _REMEMBERED and decision.workload not in state.promised:
        return  # nothing is to be remembered, and nothing to be forgotten
    name = decision.workload
    workload, before = state.workloads[name], state.memories.get(name)
    after = remember(workload, before, decision, state.workloads, now_ms) or remember_nominations(
        workload, before, decision, now_ms
    )
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
        remember_decision(state, Wait(workload=name, reason=_NOT_TOLD), now_ms)


def _has_more_to_start(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether a pod has no place that a plan would have tried."""
    workload, run = state.workloads[name], state.runs.get(name)
    placed = count_by_set(workload, list(run.pods) if run else [])
    sets = zip(workload.pod_sets, placed, strict=True)
    return any(count < each.count and not each.gated for each, count in sets)
