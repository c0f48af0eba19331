"""Carry out a plan on the state itself, as a cluster that never fails would.

The simulator and every "what if" go on from here; a live cluster carries the plan out in the world
and reports what really happened as events.
"""

from collections.abc import Iterable
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.elastic_memory import remember_nominations
from fairlead.model.events import (
    MemoryChanged,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.kueue_memory import remember
from fairlead.model.plan import Decision, Evict, Move, Plan, Reason, Reserve, Start, Wait
from fairlead.model.state import ClusterState

_NOT_TOLD: Final = Reason(code="")
_REMEMBERED: Final = frozenset({Reserve, Evict})


def apply(state: ClusterState, plan: Plan) -> None:
    """Change *state* as *plan* says. Evicted pods are leaving; they stop when their time is up."""
    for decision in plan.decisions:
        apply_decision(state, decision, plan.taken_ms)
    for memory in plan.memories:
        state.apply(memory)


def apply_decision(state: ClusterState, decision: Decision, now_ms: int) -> None:
    """Change *state* as one decision of a plan of *now_ms* says."""
    _carry_out(state, decision, now_ms)
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
    """Let nobody be promised anything any more of whom *changes*, just applied, say nothing.

    Of whom some pods started, and to whom nothing is promised anew, the others wait like anybody.

    Law: to apply a plan without its waits, and then this, is to apply the plan. Cost: a look at
    each of those to whom something was promised.
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
    waits = [Wait(workload=name, reason=_NOT_TOLD) for name in left]
    apply(state, Plan(taken_ms=now_ms, decisions=tuple(waits)))


def _has_more_to_start(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether a pod has no place that a plan would have tried."""
    workload, run = state.workloads[name], state.runs.get(name)
    waiting = [pod for pod in workload.pods() if run is None or pod not in run.pods]
    return any(not workload.pod_sets.of(pod).gated for pod in waiting)


def _carry_out(state: ClusterState, decision: Decision, now_ms: int) -> None:
    """Give and take places; a reservation or a wait does neither yet."""
    match decision:
        case Start():
            _start(state, decision, decision.flavors, now_ms)
        case Evict():
            state.apply(WorkloadLeaving(workload=decision.workload, pods=decision.pods))
        case Move():
            # A pod that moves begins anew, in the flavors that it had.
            run = state.runs.get(decision.workload)
            pods = tuple(origin.pod for origin in decision.origins)
            state.apply(WorkloadStopped(workload=decision.workload, pods=pods))
            _start(state, decision, run.flavors if run else (), now_ms)
        case _:
            pass


def _start(
    state: ClusterState, decision: Start | Move, flavors: tuple[dict[str, str], ...], now_ms: int
) -> None:
    state.apply(
        WorkloadStarted(
            workload=decision.workload,
            placements=decision.placements,
            flavors=flavors,
            at_ms=now_ms,
        )
    )
