"""Which workloads may not queue, which must leave without a preemption, and why."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.events import QueueRemoved
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Evict
from fairlead.model.queue import cohort_queue
from fairlead.model.selector import LabelRequirement, LabelSelector
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    FAITHFUL,
    NAMESPACE,
    NOW_MS,
    cluster,
    cycles,
    decided,
    held,
    plan,
    told,
    with_catalogue,
    with_constraints,
    with_extension,
    with_local_queue,
    with_rules,
    with_workload,
)
from tests.policy.kueue.told_reason import told as told_reason


def half_full(stop: str = "None") -> ClusterState:
    """Q has 4: running has 2 of them and waiting asks for the others. Other is beside it."""
    return cluster(
        f"""
        name  parent quota stop
        POOL  -      0     -
        q     POOL   4     {stop}
        other POOL   0     -
        """,
        """
        name    queue asks created running
        running q     2    1       1
        waiting q     2    2       -
        """,
    )


def inadmissible_reason(state: ClusterState, name: str = "waiting") -> list[str]:
    """What a workload is told that waits; in words."""
    found = decided(plan(state), name)
    return told_reason(found.reason)


def test_nothing_speaks_against_it() -> None:
    """The world of the tests below, with nothing wrong: each of them changes one thing."""
    assert told(plan(half_full())) == ["start waiting"]


def test_a_held_queue_admits_nobody_and_who_runs_stays() -> None:
    state = half_full("Hold")
    assert told(plan(state)) == ["wait waiting: Suspended"]
    assert inadmissible_reason(state) == ["Suspended q"]


def test_a_drained_queue_lets_everybody_go() -> None:
    state = half_full("HoldAndDrain")
    assert told(plan(state)) == ["evict running: ClusterQueueStopped", "wait waiting: Suspended"]
    assert list(cycles(state, CLASSICAL))[-1] == [
        "wait running: Suspended",
        "wait waiting: Suspended",
    ]
    assert held(state) == {"q": 0, "other": 0}


def test_a_drained_queue_says_so_where_nobody_waits() -> None:
    state = cluster(
        "name parent quota stop\nq - 4 HoldAndDrain",
        "name queue asks running\nrunning q 2x1 1",
    )
    planned = plan(state)
    assert told(planned) == ["evict running: ClusterQueueStopped"]
    evicted = decided(planned, "running")
    assert isinstance(evicted, Evict)
    assert evicted.pods == state.workloads[WorkloadName("running")].pods()
    assert evicted.beneficiary is None
    assert evicted.reason.queue == "q"


def test_who_is_told_to_leave_a_drained_queue_is_told_once() -> None:
    state = half_full("HoldAndDrain")
    apply(state, plan(state))
    assert told(plan(state)) == ["wait waiting: Suspended"]


def test_nobody_takes_the_room_of_one_who_is_drained_and_has_not_left() -> None:
    """Big asks for 3 of 4; drained has 2 until it has left. As Kueue decides it has no promise."""
    drained = (
        """
        name    parent quota stop
        POOL    -      0     -
        q       POOL   2     -
        drained POOL   2     HoldAndDrain
        """,
        """
        name    queue   asks running
        leaving drained 2    1
        big     q       3    -
        """,
    )
    for settings, waits in (
        (FAIR, "reserve big until leaving left"),
        (FAITHFUL, "wait big: WaitingForQuota"),
    ):
        assert list(cycles(cluster(*drained), settings)) == [
            ["evict leaving: ClusterQueueStopped", waits],
            ["start big", "wait leaving: Suspended"],
            ["wait leaving: Suspended"],
        ]


def test_a_stopped_local_queue_lets_nobody_in_and_who_runs_stays() -> None:
    state = half_full()
    with_local_queue(state, "q", stopped=True)
    assert told(plan(state)) == ["wait waiting: Suspended"]
    assert inadmissible_reason(state) == [f"Suspended {NAMESPACE}/q"]


def test_a_drained_local_queue_lets_everybody_go() -> None:
    state = half_full()
    with_local_queue(state, "q", stopped=True, drained=True)
    assert told(plan(state)) == ["evict running: LocalQueueStopped", "wait waiting: Suspended"]


def test_only_those_of_the_drained_local_queue_leave() -> None:
    state = half_full()
    known = state.catalogue.local_queues
    second = replace(known[f"{NAMESPACE}/q"], name="second", drained=True)
    with_catalogue(state, local_queues={**known, f"{NAMESPACE}/second": second})
    with_extension(state, "waiting", local_queue="second")
    assert told(plan(state)) == ["wait waiting: Suspended"]


def test_who_is_deactivated_waits_or_leaves() -> None:
    state = half_full()
    with_workload(state, "waiting", active=False)
    with_workload(state, "running", active=False)
    assert list(cycles(state, FAIR)) == [
        ["evict running: Deactivated", "wait waiting: Deactivated"],
        ["wait running: Deactivated", "wait waiting: Deactivated"],
    ]
    assert held(state) == {"q": 0, "other": 0}


def test_who_is_active_again_is_admitted() -> None:
    state = half_full()
    with_workload(state, "waiting", active=False)
    plan(state)
    with_workload(state, "waiting", active=True)
    assert told(plan(state)) == ["start waiting"]


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        ({"team": "red"}, ["start waiting"]),
        (
            {"team": "blue"},
            ["wait waiting: Misconfigured"],
        ),
    ],
    ids=["selected", "not selected"],
)
def test_a_queue_takes_from_the_namespaces_that_it_selects(
    labels: dict[str, str], outcome: list[str]
) -> None:
    state = half_full()
    red = LabelRequirement(key="team", operator="In", values=("red",))
    with_rules(state, "q", namespace_selector=LabelSelector(requirements=(red,)))
    with_catalogue(state, namespaces={NAMESPACE: labels})
    assert told(plan(state)) == outcome


def test_a_queue_without_a_selector_takes_from_nowhere() -> None:
    state = half_full()
    with_rules(state, "q", namespace_selector=None)
    assert inadmissible_reason(state) == [
        "Misconfigured None",
        f"ClusterQueue q does not select namespace {NAMESPACE}",
    ]


def test_a_local_queue_that_is_missing_is_named() -> None:
    state = half_full()
    with_catalogue(state, local_queues={})
    assert inadmissible_reason(state) == [
        "Misconfigured None",
        f"LocalQueue {NAMESPACE}/q does not exist",
    ]


def test_who_names_no_local_queue_is_told_so() -> None:
    state = half_full()
    with_extension(state, "waiting", local_queue="")
    assert inadmissible_reason(state) == ["Misconfigured None", "it names no LocalQueue"]


def test_a_cluster_queue_that_is_missing_is_named() -> None:
    state = half_full()
    with_workload(state, "waiting", queue="gone")
    assert inadmissible_reason(state) == ["Misconfigured None", "ClusterQueue gone does not exist"]


def test_a_cohort_that_is_missing_is_told_and_who_runs_stays() -> None:
    state = half_full()
    state.apply(QueueRemoved(cohort_queue("POOL")))
    assert told(plan(state)) == ["wait waiting: Misconfigured"]
    assert inadmissible_reason(state) == [
        "Misconfigured None",
        "the cohort of ClusterQueue q does not exist",
    ]


def test_a_drained_queue_lets_everybody_go_without_its_cohort() -> None:
    state = half_full("HoldAndDrain")
    state.apply(QueueRemoved(cohort_queue("POOL")))
    assert told(plan(state)) == ["evict running: ClusterQueueStopped", "wait waiting: Suspended"]


def test_a_flavor_that_is_missing_is_named() -> None:
    """Once flavors are known at all, those that a queue has quota on must be there."""
    state = half_full()
    with_catalogue(state, flavors={"other": ResourceFlavor(name="other")})
    assert inadmissible_reason(state) == [
        "Misconfigured None",
        "ResourceFlavor any of ClusterQueue q does not exist",
    ]


def test_a_back_off_is_told_with_the_rest_of_the_time_and_ends_on_time() -> None:
    """Until 12,500; at 10,000 there are 2,500 ms left, and at 12,500 none."""
    state = half_full()
    with_extension(state, "waiting", back_off_until_ms=NOW_MS + 2_500)
    planned = plan(state)
    assert told(planned) == ["wait waiting: BackOff"]
    assert decided(planned, "waiting").reason.remaining_ms == 2_500
    late = plan(state, now_ms=NOW_MS + 2_499)
    assert decided(late, "waiting").reason.remaining_ms == 1
    assert told(plan(state, now_ms=NOW_MS + 2_500)) == ["start waiting"]


def test_who_is_backing_off_does_not_stand_in_the_way_of_strict_fifo() -> None:
    state = cluster(
        "name parent quota strategy\nq - 2 StrictFIFO",
        f"""
        name  queue asks priority backOff
        first q     2    9        {NOW_MS + 1}
        next  q     2    0        -
        """,
    )
    assert told(plan(state)) == ["start next", "wait first: BackOff"]


def test_a_request_for_a_topology_is_not_ignored() -> None:
    state = half_full()
    with_constraints(state, "waiting", PodConstraints(unsupported=("topologyRequest",)))
    assert inadmissible_reason(state) == ["UnsupportedConstraint None", "topologyRequest"]


def test_other_constraints_that_nobody_knows_are_left_to_placement() -> None:
    state = half_full()
    with_constraints(state, "waiting", PodConstraints(unsupported=("volumes",)))
    assert told(plan(state)) == ["start waiting"]


def test_of_several_things_that_are_wrong_the_owners_own_is_told_first() -> None:
    state = half_full("Hold")
    with_local_queue(state, "q", stopped=True)
    assert inadmissible_reason(state) == [f"Suspended {NAMESPACE}/q"]
    with_workload(state, "waiting", active=False)
    assert inadmissible_reason(state) == ["Deactivated None"]
