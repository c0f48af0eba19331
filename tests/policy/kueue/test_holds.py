"""What a caller holds after failures, under Kueue's rules: quota is granted and taken by others."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.model.invariants import check_invariants
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    FAITHFUL,
    NOW_MS,
    cluster,
    with_rules,
)
from tests.policy.kueue.plan_world import told as told_plan

A, B = WorkloadName("a"), WorkloadName("b")
in_all_modes = pytest.mark.parametrize(
    "chosen", [CLASSICAL, FAIR, FAITHFUL], ids=["classical", "fair", "faithful"]
)


def told(state: ClusterState, chosen: KueueSettings, held: Holds = NOTHING_HELD) -> list[str]:
    """Return a plan in a few words, by a policy that knows of other holds from before."""
    policy = KueuePolicy(chosen)
    policy.plan(state, NOW_MS, held=Holds(workloads=frozenset(state.workloads)))
    planned = policy.plan(state, NOW_MS, held=held)
    assert planned == KueuePolicy(chosen).plan(state, NOW_MS, held=held)
    check_invariants(state)
    return told_plan(planned)


def only_pod(state: ClusterState, name: WorkloadName) -> frozenset[PodKey]:
    return frozenset((name, pod) for pod in state.workloads[name].pods())


@in_all_modes
@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_others_pass_one_that_is_held(strategy: str, chosen: KueueSettings) -> None:
    """Q has quota for one of the two; a is older."""
    state = cluster(
        f"name parent quota strategy\nq - 1 {strategy}",
        "name queue asks created\na q 1 1\nb q 1 2",
    )
    assert told(state, chosen)[0] == "start a"
    held = told(state, chosen, Holds(workloads=frozenset({A})))
    assert held == ["start b", "wait a: HeldAfterFailure"]


@in_all_modes
def test_a_claim_looks_for_others_than_a_victim_that_is_held(chosen: KueueSettings) -> None:
    """Q lends 2 to r, whose b has been there for a shorter time than c. Now a wants 1 back."""
    state = cluster(
        """
        name parent quota reclaim
        POOL -      0     -
        q    POOL   2     Any
        r    POOL   0     Any
        """,
        """
        name queue asks created running
        c    r     1    1       1
        b    r     1    2       2
        a    q     1    3       -
        """,
    )
    assert told(state, chosen)[0].startswith("evict b for a")
    pods = only_pod(state, B)
    assert told(state, chosen, Holds(victims=pods))[0].startswith("evict c for a")
    both = pods | only_pod(state, WorkloadName("c"))
    assert told(state, chosen, Holds(victims=both))[0].startswith("wait a")
    held = told(state, chosen, Holds(workloads=frozenset({A})))
    assert held == ["wait a: HeldAfterFailure"]


@in_all_modes
def test_a_queue_is_drained_but_for_those_that_are_held(chosen: KueueSettings) -> None:
    state = cluster(
        "name parent quota\nq - 2",
        "name queue asks created running\na q 1 1 1\nb q 1 2 2",
    )
    with_rules(state, "q", stop_policy="HoldAndDrain")
    assert told(state, chosen) == ["evict a: ClusterQueueStopped", "evict b: ClusterQueueStopped"]
    held = told(state, chosen, Holds(victims=only_pod(state, A)))
    assert held == ["evict b: ClusterQueueStopped"]


@in_all_modes
def test_nodes_that_are_held_have_no_effect(chosen: KueueSettings) -> None:
    state = cluster("name parent quota\nq - 1", "name queue asks created\na q 1 1")
    assert told(state, chosen, Holds(nodes=frozenset({(A, "n0")}))) == told(state, chosen)
