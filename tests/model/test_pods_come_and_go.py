"""What becomes of the places of pods when pods, sets, orders and outcomes change."""

import msgspec

from fairlead.model.axes import Axis, QuotaAxes
from fairlead.model.events import (
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadBinding,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, PodSets, Workload, numbered_pod
from tests.model.invariants import check_invariants
from tests.model.test_state import JOB, POD, TEAM, a_team, facts
from tests.model.worlds import node, queue, started, state_with


def named(requests: tuple[int, int], *pods: str) -> PodSet:
    """Pods with names and ids of their own, in one set that is called after the first."""
    return PodSet(
        name=pods[0],
        count=len(pods),
        min_count=0,
        requests=requests,
        pod_ids=tuple(PodId(f"uid-{pod}") for pod in pods),
        pod_names=pods,
    )


def job_of(*sets: PodSet) -> Workload:
    return Workload(name=JOB, queue=TEAM, pod_sets=PodSets(sets), min_count=1)


def test_a_pod_that_goes_or_comes_moves_no_other() -> None:
    """Pod b goes and d comes between a and e; a and e keep their nodes and their start times."""
    small = (1000, 0)
    state = state_with(queue("team"), node("n1"), job_of(named(small, "a", "b", "e")))
    for at_ms, name in ((5, "a"), (6, "b"), (7, "e")):
        place = (Placement(PodId(f"uid-{name}"), "n1"),)
        state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=at_ms))
    state.apply(WorkloadChanged(job_of(named(small, "a", "d", "e"))))
    check_invariants(state)
    run = state.runs[JOB]
    assert {pod: placed.started_ms for pod, placed in run.pods.items()} == {"uid-a": 5, "uid-e": 7}
    assert state.books.held("n1") == (2000, 0)
    assert state.requested(TEAM) == (3000, 0)  # a and e run, d waits
    assert state.waiting(TEAM) == [JOB]


def test_a_pod_keeps_its_place_when_its_set_is_formed_anew() -> None:
    """Pod b was like a, and asks for a GPU now: it is of another set, which comes first."""
    state = state_with(queue("team"), node("n1"), job_of(named((1000, 0), "a", "b")))
    place = (Placement(PodId("uid-b"), "n1"),)
    state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=5))
    state.apply(WorkloadChanged(job_of(named((1000, 2000), "b"), named((1000, 0), "a"))))
    check_invariants(state)
    assert state.runs[JOB].pods[PodId("uid-b")].started_ms == 5
    assert state.books.held("n1") == (1000, 2000)
    assert state.sums[TEAM].allocated == [1000, 2000]


def test_a_pod_that_comes_back_under_its_name_is_another_pod() -> None:
    state = state_with(queue("team"), node("n1"), job_of(named((1000, 0), "a")))
    state.apply(
        WorkloadStarted(workload=JOB, placements=(Placement(PodId("uid-a"), "n1"),), at_ms=5)
    )
    again = msgspec.structs.replace(named((1000, 0), "a"), pod_ids=(PodId("uid-2"),))
    state.apply(WorkloadChanged(job_of(again)))
    check_invariants(state)
    assert JOB not in state.runs
    assert state.waiting(TEAM) == [JOB]
    assert state.workloads[JOB].pod_name(PodId("uid-2")) == "a"


def test_a_set_that_keeps_its_name_keeps_its_flavors() -> None:
    """The first set goes; what the second was given stays with it."""
    axes = QuotaAxes([Axis("cpu", "spot"), Axis("cpu", "fixed")])
    state = ClusterState(("cpu",), axes)
    state.apply(QueueChanged(queue("team", axes=2)))
    first, second = (PodSet(name=n, count=1, min_count=0, requests=(1000,)) for n in "ab")
    state.apply(WorkloadAdded(job_of(first, second)))
    places = (Placement(numbered_pod("a", 0), None), Placement(numbered_pod("b", 0), None))
    flavors = ({"cpu": "spot"}, {"cpu": "fixed"})
    state.apply(WorkloadStarted(workload=JOB, placements=places, flavors=flavors, at_ms=0))
    assert state.sums[TEAM].allocated == [1000, 1000]
    state.apply(WorkloadChanged(job_of(second)))
    check_invariants(state)
    assert state.sums[TEAM].allocated == [0, 1000]


def test_a_pod_that_is_binding_counts_as_running_until_it_is_confirmed_or_has_failed() -> None:
    state = a_team()
    place = (Placement(POD, "n1"),)
    binding = WorkloadBinding(workload=JOB, placements=place, at_ms=5, until_ms=30_005)
    state.apply(binding)
    check_invariants(state)
    assert state.runs[JOB].pods[POD] == Placed("n1", 5, "binding", None, 30_005)
    assert state.sums[TEAM].allocated == [1000, 1000]
    assert state.books.held("n1") == (1000, 1000)
    state.apply(WorkloadConfirmed(workload=JOB, pods=(POD,), at_ms=7))
    check_invariants(state)
    assert state.runs[JOB].pods[POD] == Placed("n1", 7, "running")
    state.apply(WorkloadStopped(workload=JOB, pods=(POD,)))
    state.apply(binding)
    state.apply(WorkloadStopped(workload=JOB, pods=(POD,)))  # it failed
    check_invariants(state)
    assert state.waiting(TEAM) == [JOB]


def test_a_pod_that_stays_after_all_runs_as_before() -> None:
    state = a_team()
    state.apply(started("job", "n1"))
    before = facts(state)
    state.apply(WorkloadLeaving(workload=JOB, pods=(POD,)))
    assert state.sums[TEAM].allocated == [0, 0]
    state.apply(WorkloadStays(workload=JOB, pods=(POD,)))
    check_invariants(state)
    assert facts(state) == before
