"""The state after a comparison is what was observed, whatever it was before."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    Event,
    Placement,
    WorkloadAdded,
    WorkloadBinding,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadLeaving,
    WorkloadRemoved,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.execution.reconcile import (
    ObservedPlace,
    ObservedWorkload,
    bring_in_line,
    reconcile,
)
from fairlead.model.memory import KaiMemory
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId, PodSet, PodSets, Workload
from tests.model.invariants import check_invariants
from tests.model.worlds import node, queue, state_with
from tests.scale_examples import scale_examples

JOB, TEAM = WorkloadName("job"), QueueName("team")
A, B, C = (PodId(name) for name in "abc")


def job(*pods: PodId, priority: int = 0) -> Workload:
    sets = [
        PodSet(name=pod, count=1, min_count=0, requests=(1000, 0), pod_ids=(pod,), pod_names=(pod,))
        for pod in pods
    ]
    return Workload(
        name=JOB,
        queue=TEAM,
        pod_sets=PodSets(sets),
        min_count=1,
        priority=priority,
        extension=KaiJob(),
    )


def seen(*pods: PodId, priority: int = 0, **places: ObservedPlace) -> ObservedWorkload:
    named = {PodId(name): place for name, place in places.items()}
    return ObservedWorkload(workload=job(*pods, priority=priority), places=named)


def at(node_name: str, since_ms: int = 0, *, leaving: bool = False) -> ObservedPlace:
    return ObservedPlace(node_name, since_ms, leaving=leaving)


def a_cluster() -> ClusterState:
    return state_with(queue("team"), node("n1"), node("n2"))


def events(state: ClusterState, observed: ObservedWorkload | None) -> list[Event]:
    """Apply what is to be applied, and return it."""
    found = []
    for event in reconcile(state, JOB, observed):
        state.apply(event)
        check_invariants(state)
        found.append(event)
    return found


def test_a_workload_comes_with_its_pods_earliest_first_and_goes() -> None:
    state = a_cluster()
    assert events(state, seen(A, B, C, a=at("n1", 9), b=at("n2", 5, leaving=True))) == [
        WorkloadAdded(job(A, B, C)),
        WorkloadStarted(workload=JOB, placements=(Placement(B, "n2"),), at_ms=5),
        WorkloadStarted(workload=JOB, placements=(Placement(A, "n1"),), at_ms=9),
        WorkloadLeaving(workload=JOB, pods=(B,)),
    ]
    assert events(state, None) == [WorkloadRemoved(JOB)]
    assert events(state, None) == []


def test_what_objects_record_counts_when_a_workload_is_seen_first() -> None:
    state = a_cluster()
    old = ObservedWorkload(workload=job(A), memory=KaiMemory(stale_since_ms=5))
    bring_in_line(state, JOB, old)
    assert state.memories == {JOB: KaiMemory(stale_since_ms=5)}
    later = ObservedWorkload(workload=job(A), memory=KaiMemory(stale_since_ms=7))
    assert events(state, later) == []
    assert state.memories == {JOB: KaiMemory(stale_since_ms=5)}


def test_a_replaced_pod_takes_nothing_from_the_others() -> None:
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, B, a=at("n1"), b=at("n2")))
    assert events(state, seen(A, C, a=at("n1"))) == [WorkloadChanged(job(A, C))]
    assert list(state.runs[JOB].pods) == [A]


def test_what_was_assumed_stays_until_the_cluster_shows_it() -> None:
    """An older object without a node does not undo a bind; one with the node confirms it."""
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, B))
    state.apply(WorkloadBinding(workload=JOB, placements=(Placement(A, "n1"),), at_ms=3))
    state.apply(WorkloadReserved(workload=JOB, placements=(Placement(B, "n2"),), at_ms=3))
    assert events(state, seen(A, B)) == []
    assert events(state, seen(A, B, a=at("n1", 4), b=at("n1", 5))) == [
        WorkloadStopped(workload=JOB, pods=(B,)),
        WorkloadConfirmed(workload=JOB, pods=(A,), at_ms=4),
        WorkloadStarted(workload=JOB, placements=(Placement(B, "n1"),), at_ms=5),
    ]


def test_the_cluster_is_right_about_where_a_pod_is() -> None:
    state = a_cluster()
    bring_in_line(state, JOB, seen(A))
    state.apply(WorkloadBinding(workload=JOB, placements=(Placement(A, "n1"),), at_ms=3))
    bring_in_line(state, JOB, seen(A, a=at("n2", 4)))
    assert state.runs[JOB].pods == {A: Placed("n2", 4)}


def test_a_pod_that_was_told_to_leave_leaves_until_it_is_gone() -> None:
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, a=at("n1")))
    state.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    assert events(state, seen(A, a=at("n1"))) == []
    assert events(state, seen(A)) == [WorkloadStopped(workload=JOB, pods=(A,))]


def test_a_start_time_that_is_learnt_later_is_taken_over() -> None:
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, a=at("n1", 5)))
    assert events(state, seen(A, a=at("n1", 8))) == [
        WorkloadConfirmed(workload=JOB, pods=(A,), at_ms=8)
    ]


def test_a_start_time_and_a_deletion_that_are_learnt_at_once_are_both_taken_in() -> None:
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, a=at("n1", 5)))
    observed = seen(A, a=at("n1", 8, leaving=True))
    assert events(state, observed) == [
        WorkloadConfirmed(workload=JOB, pods=(A,), at_ms=8),
        WorkloadLeaving(workload=JOB, pods=(A,)),
    ]
    assert state.runs[JOB].pods == {A: Placed("n1", 8, "leaving")}
    assert events(state, observed) == []


def test_a_start_time_is_learnt_of_a_pod_that_was_told_to_leave() -> None:
    """The order may be refused, and then the pod has run since 8, not since 5."""
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, a=at("n1", 5)))
    state.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    assert events(state, seen(A, a=at("n1", 8))) == [
        WorkloadStays(workload=JOB, pods=(A,)),
        WorkloadConfirmed(workload=JOB, pods=(A,), at_ms=8),
        WorkloadLeaving(workload=JOB, pods=(A,)),
    ]
    assert state.runs[JOB].pods == {A: Placed("n1", 8, "leaving")}
    assert events(state, seen(A, a=at("n1", 8))) == []


def test_a_pod_that_was_told_to_leave_leaves_from_another_device_too() -> None:
    """The device that was number 0 is number 1 now."""
    shares = [DeviceShare(devices=(number,), part_e9=5 * 10**8) for number in (0, 1)]
    before, after = (ObservedPlace("n1", 5, share) for share in shares)
    state = a_cluster()
    bring_in_line(state, JOB, seen(A, a=before))
    state.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    events(state, seen(A, a=after))
    assert state.runs[JOB].pods == {A: Placed("n1", 5, "leaving", shares[1])}
    assert events(state, seen(A, a=after)) == []


def test_quota_that_is_granted_anew_ends_the_order_to_leave() -> None:
    """The order was about the quota of the flavor that it had before."""
    state = a_cluster()
    first, second = (
        ObservedWorkload(workload=job(A), places={A: at("n1", 5)}, flavors=({"cpu": flavor},))
        for flavor in ("spot", "fixed")
    )
    bring_in_line(state, JOB, first)
    state.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    events(state, second)
    assert state.runs[JOB].pods == {A: Placed("n1", 5)}


places = st.builds(
    ObservedPlace,
    st.sampled_from(["n1", "n2"]),
    st.integers(0, 3),
    st.none(),
    st.sampled_from([False, False, True]),
)


@st.composite
def observations(draw: st.DrawFn) -> ObservedWorkload | None:
    if draw(st.integers(0, 5)) == 0:
        return None
    pods = draw(st.lists(st.sampled_from([A, B, C]), unique=True, min_size=1))
    found = {pod: draw(places) for pod in pods if draw(st.booleans())}
    workload = job(*sorted(pods), priority=draw(st.integers(0, 1)))
    return ObservedWorkload(workload=workload, places=found)


def without_return(
    observed: ObservedWorkload | None, deleted: dict[PodId, ObservedPlace]
) -> ObservedWorkload | None:
    """Return what a cluster could show: what was *deleted* before is so until it is gone.

    It stays on its node, but since when it has been there may be learnt late.
    """
    if observed is None:
        deleted.clear()
        return None
    places = {
        pod: replace(deleted.get(pod, place), started_ms=place.started_ms)
        for pod, place in observed.places.items()
    }
    deleted.clear()
    deleted.update({pod: place for pod, place in places.items() if place.leaving})
    return ObservedWorkload(workload=observed.workload, places=places)


@settings(max_examples=scale_examples(300))
@given(st.lists(observations(), min_size=1, max_size=6))
def test_after_any_history_the_state_is_as_if_the_last_were_all(
    history: list[ObservedWorkload | None],
) -> None:
    """Without orders of ours there is nothing to assume."""
    state, anew = a_cluster(), a_cluster()
    observed: ObservedWorkload | None = None
    deleted: dict[PodId, ObservedPlace] = {}
    for each in history:
        observed = without_return(each, deleted)
        events(state, observed)
        assert events(state, observed) == []
    bring_in_line(anew, JOB, observed)
    assert state.workloads == anew.workloads
    assert {name: dict(run.pods) for name, run in state.runs.items()} == {
        name: dict(run.pods) for name, run in anew.runs.items()
    }
    assert state.sums[TEAM] == anew.sums[TEAM]
