"""Carry out a plan on the state itself, as a cluster that never fails would.

The simulator and every "what if" go on from here; a live cluster carries the plan out in the world
and reports what really happened as events.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from fairlead.model.elastic_memory import remember_nominations
from fairlead.model.events import (
    Event,
    WorkloadChanged,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.kueue_memory import remember
from fairlead.model.plan import Decision, Evict, Move, Plan, Reason, Start, Wait
from fairlead.model.state import ClusterState

_NOT_TOLD: Final = Reason(code="")


def apply(state: ClusterState, plan: Plan) -> None:
    """Change *state* as *plan* says. Evicted pods are leaving; they stop when their time is up."""
    for decision in plan.decisions:
        for event in list(_events(state, decision, plan.taken_ms)):
            state.apply(event)
        workload = state.workloads[decision.workload]
        changed = remember(workload, decision, state.workloads) or remember_nominations(
            workload, decision, plan.taken_ms
        )
        if changed is not None:
            state.apply(WorkloadChanged(changed))


def forget_promises(state: ClusterState, changes: Iterable[Decision], now_ms: int) -> None:
    """Let nobody be promised anything any more of whom *changes* say nothing.

    Law: to apply a plan without its waits, and then this, is to apply the plan. Cost: a look at
    each of those to whom something was promised.
    """
    if not state.promised:
        return
    decided = {each.workload for each in changes if not isinstance(each, Evict | Move)}
    left = [name for name in state.promised if name not in decided]
    waits = [Wait(workload=name, reason=_NOT_TOLD) for name in left]
    apply(state, Plan(taken_ms=now_ms, decisions=tuple(waits)))


def _events(state: ClusterState, decision: Decision, now_ms: int) -> Iterator[Event]:
    match decision:
        case Start():
            yield WorkloadStarted(
                workload=decision.workload,
                placements=decision.placements,
                flavors=decision.flavors,
                at_ms=now_ms,
            )
        case Evict():
            yield WorkloadLeaving(workload=decision.workload, pods=decision.pods)
        case Move():
            # A pod that moves begins anew, in the flavors that it had.
            stopped = tuple(origin.pod for origin in decision.origins)
            run = state.runs.get(decision.workload)
            yield WorkloadStopped(workload=decision.workload, pods=stopped)
            yield WorkloadStarted(
                workload=decision.workload,
                placements=decision.placements,
                flavors=run.flavors if run else (),
                at_ms=now_ms,
            )
        case _:
            return  # a reservation or a wait gives and takes no place yet
