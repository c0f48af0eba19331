"""Plans under Kueue's rules in a large cluster, in six configurations: whole, and after one change.

A plan with all reasons is what ``fairlead plan`` prints. One workload more is what a live cluster
asks for after each submission.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from bench.harness import Work, benchmark
from bench.kueue_large_world import (
    CONFIGURATIONS,
    NOW_MS,
    Configuration,
    first_state,
    large_world,
    pending_workload,
)
from fairlead.model.axes import QueueName
from fairlead.model.events import WorkloadAdded, WorkloadFinished
from fairlead.model.plan import Plan
from fairlead.policy.kueue.policy import KueuePolicy

_SUBMITTED_TO: Final = QueueName("q0500")


def first_plan(name: str) -> Callable[[], Plan]:
    """Return the first plan of a busy world: many workloads preempt others."""
    configuration = CONFIGURATIONS[name]
    state = first_state(configuration)
    return lambda: KueuePolicy(configuration.settings).plan(state, NOW_MS, explain=False)


def _whole_plan(configuration: Configuration) -> Work:
    """Every reason of some 900 pending workloads, by a policy that sees the state first."""
    state = large_world(configuration)

    def plan() -> None:
        assert KueuePolicy(configuration.settings).plan(state, NOW_MS).decisions

    return plan


def _one_more(configuration: Configuration) -> Work:
    """A workload is submitted and planned for, then taken back and planned for again."""
    state = large_world(configuration)
    policy = KueuePolicy(configuration.settings)
    policy.plan(state, NOW_MS, explain=False)
    workload = pending_workload("one-more", _SUBMITTED_TO, Random(1))

    def submit() -> None:
        state.apply(WorkloadAdded(workload))
        policy.plan(state, NOW_MS, explain=False)
        state.apply(WorkloadFinished(workload.name))
        policy.plan(state, NOW_MS, explain=False)

    return submit


for _name, _configuration in CONFIGURATIONS.items():
    benchmark(f"kueue, 1,100 queues, {_name}: plan with all reasons", goal_cpu_ms=3_000.0)(
        partial(_whole_plan, _configuration)
    )
    benchmark(f"kueue, 1,100 queues, {_name}: one workload more", goal_cpu_ms=20.0, operations=2)(
        partial(_one_more, _configuration)
    )
