"""What happens when one plan after another is carried out and nothing else happens."""

from collections.abc import Iterator

from fairlead.model.apply import apply
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadRemoved, WorkloadStopped
from fairlead.model.plan import Plan, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.make_policy import Policy


def plan_cycles(policy: Policy, state: ClusterState, now_ms: int, most: int) -> Iterator[Plan]:
    """Yield up to *most* plans, each for the state that the one before left behind.

    Between two cycles what was told to leave has left and waits again, and what was started runs.
    A job that was leaving with all of its pods before the first cycle was deleted by its owner:
    it does not come back. Ends after the first plan that changes nothing, in a state in which
    nothing is leaving. The state is changed, and the clock stands still.
    """
    withdrawn = _withdrawn(state)
    for _ in range(most):
        plan = policy.plan(state, now_ms)
        yield plan
        is_quiet = all(isinstance(decision, Wait) for decision in plan.decisions)
        apply(state, plan)
        has_left = _let_leave(state)
        while withdrawn:
            state.apply(WorkloadRemoved(withdrawn.pop()))
        if not has_left and is_quiet:
            return


def _withdrawn(state: ClusterState) -> list[WorkloadName]:
    """Return the jobs that have nothing but pods that are leaving."""
    return [
        name
        for name, run in state.runs.items()
        if len(run.pods) == state.workloads[name].pod_count()
        and all(placed.phase == "leaving" for placed in run.pods.values())
    ]


def _let_leave(state: ClusterState) -> bool:
    """Stop every pod that was told to leave; return whether there was one."""
    leaving = {
        name: tuple(pod for pod, placed in run.pods.items() if placed.phase == "leaving")
        for name, run in state.runs.items()
    }
    for name, pods in leaving.items():
        if pods:
            state.apply(WorkloadStopped(workload=name, pods=pods))
    return any(leaving.values())
