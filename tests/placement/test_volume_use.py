"""A volume for one pod, and the volumes that a node attaches, as pods come and go."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    ForeignPodRemoved,
    Placement,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    PodConstraints,
    PodId,
    PodSet,
    PodSets,
    VolumeNeeds,
    Workload,
    numbered_pod,
)
from fairlead.placement.volume_use import VolumeUse
from tests.model.foreign import foreign_pod
from tests.model.worlds import node, queue, state_with

POD: Final = numbered_pod("main", 0)
NODES: Final = ("n1", "n2")
NAMES: Final = ("a", "b", "c")
D, E = "disk", "share"


def attached(*volumes: str) -> tuple[tuple[str, str], ...]:
    return tuple((D if each.startswith("d") else E, each) for each in sorted(volumes))


def needs_of(claims: str = "", volumes: str = "") -> VolumeNeeds:
    return VolumeNeeds(exclusive=tuple(claims.split()), attached=attached(*volumes.split()))


def workload(name: str, needs: VolumeNeeds) -> Workload:
    constraints = PodConstraints(volumes=needs)
    pod_set = PodSet(name="main", count=1, min_count=1, requests=(0, 0), constraints=constraints)
    return Workload(
        name=WorkloadName(name),
        namespace="lab",
        queue=QueueName("q"),
        pod_sets=PodSets((pod_set,)),
        min_count=1,
    )


def small_state() -> ClusterState:
    limits = {"n1": {D: 1}, "n2": {D: 2, E: 0}}
    nodes = [msgspec.structs.replace(node(name), attach_limits=limits[name]) for name in NODES]
    return state_with(queue("q"), *nodes)


ASKED: Final = [needs_of("x"), needs_of("x y"), needs_of("", "d1"), needs_of("", "d2 e1")]


def all_answers(use: VolumeUse, state: ClusterState) -> list[tuple[str | None, bool]]:
    return [
        (use.defect(each, needs), use.is_free_now(each, needs))
        for each in state.nodes.values()
        for needs in ASKED
    ]


PHASES: Final = ("started", "reserved", "leaving", "displaced", "stopped")


def move(state: ClusterState, name: WorkloadName, on: str, phase: str) -> None:
    """Bring the one pod of a workload that has no place into a phase."""
    places = (Placement(POD, on),)
    if phase == "reserved":
        state.apply(WorkloadReserved(workload=name, placements=places, at_ms=0))
        return
    state.apply(WorkloadStarted(workload=name, placements=places, at_ms=0))
    match phase:
        case "leaving":
            state.apply(WorkloadLeaving(workload=name, pods=(POD,)))
        case "displaced":
            state.apply(WorkloadDisplaced(workload=name, pods=(POD,)))
        case "stopped":
            state.apply(WorkloadStopped(workload=name, pods=(POD,)))


some_needs = st.builds(
    needs_of, st.sampled_from(["", "x", "y", "x y"]), st.sampled_from(["", "d1", "d2", "d1 e1"])
)
steps = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(NODES),
        st.sampled_from(("change", "foreign", *PHASES)),
        some_needs,
        st.booleans(),
    ),
    max_size=12,
)


@given(steps=steps)
def test_what_is_kept_is_what_a_look_at_all_pods_gives(
    steps: list[tuple[str, str, str, VolumeNeeds, bool]],
) -> None:
    state = small_state()
    kept = VolumeUse(state)
    for name in NAMES:
        state.apply(WorkloadAdded(workload(name, needs_of("x", "d1"))))
    for name, on, step, needs, is_tried in steps:
        mark = state.mark()
        known = WorkloadName(name)
        if step == "change":
            state.apply(WorkloadChanged(workload(name, needs)))
        elif step == "foreign":
            volumes = needs if needs.meets_pods else None
            found = foreign_pod(name, on, (0, 0))
            asked = msgspec.structs.replace(found, asked_about=True, volumes=volumes)
            state.apply(ForeignPodChanged(asked))
        elif known not in state.runs:
            move(state, known, on, step)
        else:
            state.apply(WorkloadStopped(workload=known, pods=(POD,)))
        assert all_answers(kept, state) == all_answers(VolumeUse(state), state)
        if is_tried:
            state.roll_back(mark)
            assert all_answers(kept, state) == all_answers(VolumeUse(state), state)
        else:
            state.keep(mark)


@pytest.mark.parametrize(
    ("phase", "defect", "is_free_now"),
    [
        ("started", "wait for pod lab/main-0, which alone may use the claim x", False),
        ("reserved", "wait for pod lab/main-0, which alone may use the claim x", False),
        ("leaving", None, False),
        ("displaced", None, False),
        ("stopped", None, True),
    ],
)
def test_a_claim_for_one_pod_is_kept_until_that_pod_is_gone(
    phase: str, defect: str | None, is_free_now: bool
) -> None:
    state = small_state()
    state.apply(WorkloadAdded(workload("a", needs_of("x"))))
    move(state, WorkloadName("a"), "n1", phase)
    use = VolumeUse(state)
    for each in state.nodes.values():
        assert use.defect(each, needs_of("x")) == defect
        assert use.is_free_now(each, needs_of("x")) is is_free_now
        assert use.defect(each, needs_of("y")) is None


def test_a_foreign_pod_that_is_gone_uses_nothing() -> None:
    state = small_state()
    use = VolumeUse(state)
    found = msgspec.structs.replace(
        foreign_pod("other", "n1", (0, 0)), asked_about=True, volumes=needs_of("x", "d1")
    )
    state.apply(ForeignPodChanged(found))
    n1 = state.nodes["n1"]
    assert use.defect(n1, needs_of("x")) is not None
    assert use.defect(n1, needs_of("", "d2")) == "have no room for another volume of disk"
    assert use.defect(n1, needs_of("", "d1")) is None
    state.apply(ForeignPodRemoved(PodId(found.id)))
    assert use.defect(n1, needs_of("x")) is None
    assert use.defect(n1, needs_of("", "d2")) is None
