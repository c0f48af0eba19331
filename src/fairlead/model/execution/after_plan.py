"""The state that a plan leaves behind, if all of it succeeds and nothing else happens."""

from collections.abc import Sequence

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    ForeignPodRemoved,
    WorkloadRemoved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Decision, Plan, Reserve
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId


def carry_out(
    state: ClusterState, decisions: Sequence[Decision], now_ms: int, *, keeps_reservations: bool
) -> bool:
    """Change *state* to what the next cycle may find; returns whether any pod left.

    All evicted pods have left, foreign pods too. Ours wait again, but for jobs that were
    leaving with all of their pods before: those count as withdrawn by their owners, unless their
    rule set queues them again. Pods with a reservation run where it is, or wait
    again. Cost: a look at each pod of ours that has a place.
    """
    going = {
        name
        for name, run in state.runs.items()
        for placed in run.pods.values()
        if placed.phase == "leaving"
    }
    withdrawn = [name for name in state.runs if name in going and _is_withdrawn(state, name)]
    apply(state, Plan(taken_ms=now_ms, decisions=tuple(decisions)))
    for name in withdrawn:
        state.apply(WorkloadRemoved(name))
    has_left = let_foreign_pods_leave(state) or bool(withdrawn)
    going |= {each.workload for each in decisions}
    for name in [name for name in state.runs if name in going]:
        leaving = _leaving(state.runs[name])
        if leaving:
            has_left = True
            state.apply(WorkloadStopped(workload=name, pods=leaving))
    if keeps_reservations:
        for each in decisions:
            if isinstance(each, Reserve):
                state.apply(
                    WorkloadStarted(
                        workload=each.workload,
                        placements=each.placements,
                        flavors=each.flavors,
                        at_ms=now_ms,
                    )
                )
    return has_left


def let_foreign_pods_leave(state: ClusterState) -> bool:
    """Let the foreign pods be gone that are being deleted; returns whether there was any."""
    going = list(state.books.leaving_foreign)
    for pod in going:
        state.apply(ForeignPodRemoved(pod))
    return bool(going)


def _leaving(run: Run) -> tuple[PodId, ...]:
    return tuple([pod for pod, placed in run.pods.items() if placed.phase == "leaving"])


def _is_withdrawn(state: ClusterState, name: WorkloadName) -> bool:
    pods = state.runs[name].pods
    extension = state.workloads[name].extension
    if extension is not None and extension.is_requeued:
        return False
    return len(pods) == state.workloads[name].pod_count() and all(
        placed.phase == "leaving" for placed in pods.values()
    )
