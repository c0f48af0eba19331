"""Plans under Kueue's rules in a large full cluster: all reasons, and one workload more."""

from functools import partial

from bench.harness import Work, benchmark
from bench.kueue_large_world import (
    CONFIGURATIONS,
    Configuration,
    large_state,
    pending_workload,
)
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadAdded, WorkloadFinished
from fairlead.model.executor import apply
from fairlead.policy.kueue.policy import KueuePolicy

LATE = WorkloadName("late")


def plan_all(configuration: Configuration) -> Work:
    """Return the work of one plan with all reasons, from a new state."""
    state = large_state(configuration)
    return lambda: KueuePolicy(configuration.settings).plan(state, 10**8)


def plan_one_more(configuration: Configuration) -> Work:
    """Return the work of two plans without reasons: a workload has come, and is gone.

    The first plan is carried out before, and the evicted workloads have not left yet.
    """
    state, policy = large_state(configuration), KueuePolicy(configuration.settings)
    apply(state, policy.plan(state, 10**8, explain=False))
    policy.plan(state, 10**8, explain=False)

    def plan() -> None:
        state.apply(WorkloadAdded(pending_workload(LATE, "q0001", 10_601)))
        policy.plan(state, 10**8, explain=False)
        state.apply(WorkloadFinished(LATE))
        policy.plan(state, 10**8, explain=False)

    return plan


for _name, _configuration in CONFIGURATIONS.items():
    benchmark(f"kueue large, {_name}: plan with all reasons", goal_cpu_ms=3_000.0)(
        partial(plan_all, _configuration)
    )
    benchmark(f"kueue large, {_name}: one workload more", goal_cpu_ms=20.0, operations=2)(
        partial(plan_one_more, _configuration)
    )
