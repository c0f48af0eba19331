"""A state on other axes knows all that the former one did, and every later fact."""

from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    MemoryChanged,
    NodeAdded,
    Placement,
    QueueChanged,
    UsageChanged,
    WorkloadBinding,
    WorkloadLeaving,
    WorkloadRemoved,
)
from fairlead.model.execution.carry_over import carry_over
from fairlead.model.execution.reconcile import ObservedPlace, ObservedWorkload, bring_in_line
from fairlead.model.memory import ElasticMemory, KaiMemory, KueueMemory, Memory, part_about
from fairlead.model.node import Node
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    KaiJob,
    KueueWorkload,
    PodId,
    PodSet,
    PodSets,
    Workload,
    WorkloadExtension,
)
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.test_state_machine import AXES, FLAVORS, NAMES, memories, shares, workloads
from tests.model.worlds import RESOURCES, queue
from tests.scale_examples import scale_examples

FPGA = "example.com/fpga"
WIDER = (FPGA, "nvidia.com/gpu", "cpu")
WIDER_AXES = QuotaAxes(
    [Axis("gpu", "late"), Axis(FPGA), *reversed(AXES.axes)], counted_as=AXES.counted_as
)
JOB, TEAM = WorkloadName("job"), QueueName("q0")
A, B, C = (PodId(name) for name in "abc")
SPOT, FIXED = ({"nvidia.com/gpu": flavor} for flavor in FLAVORS)

Objects: TypeAlias = dict[WorkloadName, ObservedWorkload]


def wider(amounts: tuple[int, ...], fpga: int) -> tuple[int, ...]:
    cpu, gpu = amounts
    return (fpga, gpu, cpu)


def filled(objects: Objects, *, on: QuotaAxes) -> ClusterState:
    """A state of three nodes, queues in a chain, and what is observed, on few axes or on more."""
    is_wider = on is WIDER_AXES
    state = ClusterState(WIDER if is_wider else RESOURCES, on)
    for parent, name in zip([None, *NAMES], NAMES, strict=False):
        state.apply(QueueChanged(queue(name, parent, axes=len(on))))
    for name in ("n1", "n2", "n3"):
        offers = (8000, 8000)
        state.apply(
            NodeAdded(Node(name=name, allocatable=wider(offers, 4) if is_wider else offers))
        )
    see(state, objects, is_wider=is_wider)
    return state


def see(state: ClusterState, objects: Objects, *, is_wider: bool = False) -> None:
    """Bring *state* in line with *objects*, which are all that there are."""
    for name in [*state.workloads, *objects]:
        found = objects.get(name)
        if found is not None and is_wider:
            sets = [replace(s, requests=wider(s.requests, 2)) for s in found.workload.pod_sets]
            workload = replace(found.workload, pod_sets=PodSets(sets))
            found = replace(found, workload=workload)
        bring_in_line(state, name, found)


def known_by(state: ClusterState) -> dict[str, object]:
    """Return what *state* knows on the axes of both, by their names."""
    axes = [state.axes.axes.index(axis) for axis in AXES.axes]
    resources = [state.resources.index(name) for name in RESOURCES]
    runs = {name: (dict(run.pods), run.flavors) for name, run in state.runs.items()}
    sums = {
        name: (
            [[vector[at] for at in axes] for vector in (s.allocated, s.non_preemptible, s.leaving)],
            [s.pending[at] for at in resources],
        )
        for name, s in state.sums.items()
    }
    usage = {name: [used[at] for at in axes] for name, used in state.usage.items()}
    return {
        "runs": runs,
        "memories": dict(state.memories),
        "promised": set(state.promised),
        "sums": sums,
        "usage": usage,
    }


def without_times_of_leavers(state: ClusterState) -> dict[WorkloadName, dict[PodId, Placed]]:
    """Return the places; of a pod that leaves, each state has the time that it learnt first."""
    return {
        name: {
            pod: replace(at, started_ms=0) if at.phase == "leaving" else at
            for pod, at in run.pods.items()
        }
        for name, run in state.runs.items()
    }


@st.composite
def observations(draw: st.DrawFn, name: str) -> ObservedWorkload:
    workload = draw(workloads(name))
    places = {
        pod: ObservedPlace(
            draw(st.sampled_from([None, "n1", "n2", "n3"])),
            draw(st.integers(0, 2)),
            draw(shares),
            draw(st.sampled_from([False, False, True])),
        )
        for pod in workload.pods()
        if draw(st.booleans())
    }
    flavors = tuple(draw(st.sampled_from([{}, SPOT, FIXED])) for _ in workload.pod_sets)
    memory = draw(memories(workload))
    return ObservedWorkload(
        workload=workload,
        places=places,
        flavors=flavors if draw(st.booleans()) else (),
        memory=None if memory is None else part_about(workload, memory),
    )


@st.composite
def clusters(draw: st.DrawFn) -> Objects:
    names = draw(st.lists(st.sampled_from(["w1", "w2", "w3"]), unique=True, min_size=1))
    return {WorkloadName(name): draw(observations(name)) for name in names}


@st.composite
def later(draw: st.DrawFn, objects: Objects) -> Objects:
    """Return some of *objects* as they were, some in a later version, and perhaps new ones."""
    unchanged = {name: each for name, each in objects.items() if draw(st.booleans())}
    return draw(clusters()) | unchanged


def decide(state: ClusterState, data: st.DataObject) -> None:
    """Give places to waiting pods, tell others to leave, remember something, measure usage."""
    for name, workload in state.workloads.items():
        run = state.runs.get(name)
        running = [pod for pod, at in run.pods.items() if at.is_running()] if run else []
        waiting = [pod for pod in workload.pods() if run is None or pod not in run.pods]
        given = data.draw(st.sampled_from([{}, SPOT, FIXED]))
        flavors = run.flavors if run else (given,) * len(workload.pod_sets)
        leaving = tuple(pod for pod in running if data.draw(st.booleans()))
        if leaving:
            state.apply(WorkloadLeaving(workload=name, pods=leaving))
        for pod in waiting:
            if data.draw(st.booleans()):
                node = data.draw(st.sampled_from([None, "n1", "n2", "gone"]))
                at_ms = data.draw(st.integers(3, 4))
                event = WorkloadBinding(
                    workload=name,
                    placements=(Placement(pod, node, data.draw(shares)),),
                    flavors=flavors,
                    at_ms=at_ms,
                    until_ms=at_ms + 30,
                )
                state.apply(event)
        memory = data.draw(memories(workload))
        if memory is None or part_about(workload, memory) == memory:
            state.apply(MemoryChanged(name, memory))
    amounts = st.tuples(*[st.integers(0, 5)] * len(AXES))
    usage = data.draw(st.dictionaries(st.sampled_from([*NAMES, "not known"]), amounts))
    state.apply(UsageChanged({QueueName(name): used for name, used in usage.items()}))


@settings(max_examples=scale_examples(200))
@given(clusters(), st.data(), st.sampled_from([AXES, WIDER_AXES]))
def test_a_state_filled_from_the_same_objects_knows_the_same(
    objects: Objects, data: st.DataObject, axes: QuotaAxes
) -> None:
    old = filled(objects, on=AXES)
    decide(old, data)
    new = filled(objects, on=axes)
    carry_over(old, new)
    check_invariants(new)
    assert known_by(new) == known_by(old)


@settings(max_examples=scale_examples(300))
@given(clusters(), st.data(), st.sampled_from([AXES, WIDER_AXES]))
def test_to_carry_over_to_later_objects_is_to_bring_the_old_state_in_line_with_them(
    objects: Objects, data: st.DataObject, axes: QuotaAxes
) -> None:
    """Pods, sets and workloads go and come, and places and flavors change."""
    old = filled(objects, on=AXES)
    decide(old, data)
    changed = data.draw(later(objects))
    new = filled(changed, on=axes)
    carry_over(old, new)
    check_invariants(new)
    see(old, changed)
    check_invariants(old)
    expected, found = known_by(old), known_by(new)
    assert without_times_of_leavers(new) == without_times_of_leavers(old)
    for known in (expected, found):
        del known["runs"]
    assert found == expected
    assert {n: r.flavors for n, r in new.runs.items()} == {
        n: r.flavors for n, r in old.runs.items()
    }


@settings(max_examples=scale_examples(100))
@given(clusters(), st.data())
def test_to_carry_over_twice_changes_nothing(objects: Objects, data: st.DataObject) -> None:
    old = filled(objects, on=AXES)
    decide(old, data)
    new = filled(data.draw(later(objects)), on=AXES)
    carry_over(old, new)
    before = facts(new)
    carry_over(old, new)
    assert facts(new) == before


def job(*pods: PodId, extension: WorkloadExtension | None = None, name: str = "main") -> Workload:
    """Each pod asks for 1000 of cpu and one GPU; all are in one set."""
    asked = PodSet(
        name=name,
        count=len(pods),
        min_count=0,
        requests=(1000, 1000),
        pod_ids=pods,
        pod_names=pods,
    )
    return Workload(
        name=JOB,
        queue=TEAM,
        pod_sets=PodSets((asked,)),
        min_count=1,
        extension=extension or KueueWorkload(local_queue="q"),
    )


def shown(
    workload: Workload,
    *,
    flavors: tuple[dict[str, str], ...] = (),
    memory: Memory | None = None,
    **places: ObservedPlace,
) -> Objects:
    named = {PodId(name): place for name, place in places.items()}
    found = ObservedWorkload(workload=workload, places=named, flavors=flavors, memory=memory)
    return {JOB: found}


def bind(pod: PodId, node: str | None, *flavors: dict[str, str]) -> WorkloadBinding:
    return WorkloadBinding(
        workload=JOB, placements=(Placement(pod, node),), flavors=flavors, at_ms=3, until_ms=33
    )


def on_more_axes(old: ClusterState, objects: Objects) -> ClusterState:
    new = filled(objects, on=WIDER_AXES)
    carry_over(old, new)
    check_invariants(new)
    return new


def test_a_pod_that_is_binding_has_its_place_flavor_and_times_on_more_axes_too() -> None:
    """Axes before: cpu, gpu, gpu of spot and of fixed. Two FPGAs a pod are new."""
    objects = shown(job(A, B))
    old = filled(objects, on=AXES)
    old.apply(bind(A, "n1", SPOT))
    assert old.sums[TEAM].allocated == [1000, 0, 1000, 0]
    new = on_more_axes(old, objects)
    assert new.runs[JOB].pods == {A: Placed("n1", 3, "binding", None, 33)}
    assert new.runs[JOB].flavors == (SPOT,)
    # gpu of late, fpga, gpu of fixed, gpu of spot, gpu, cpu
    assert new.sums[TEAM].allocated == [0, 2, 0, 1000, 0, 1000]
    assert new.sums[TEAM].pending == [2, 1000, 1000]  # B: fpga, gpu, cpu
    assert new.books.held("n1") == (2, 1000, 1000)


def test_a_pod_that_is_shown_elsewhere_stays_there() -> None:
    old = filled(shown(job(A, B)), on=AXES)
    old.apply(bind(A, "n1"))
    old.apply(bind(B, "n1"))
    new = on_more_axes(old, shown(job(A, B), a=ObservedPlace("n2", 7)))
    assert new.runs[JOB].pods == {A: Placed("n2", 7), B: Placed("n1", 3, "binding", None, 33)}


def test_a_pod_that_is_gone_is_not_binding() -> None:
    """Another pod has come instead, in a set of another name."""
    old = filled(shown(job(A, B)), on=AXES)
    old.apply(bind(A, "n1"))
    old.apply(bind(B, "n2"))
    new = on_more_axes(old, shown(job(B, C, name="regrouped")))
    assert list(new.runs[JOB].pods) == [B]
    assert on_more_axes(old, {}).runs == {}


def test_a_set_keeps_its_flavor_by_name() -> None:
    objects = shown(job(A))
    old = filled(objects, on=AXES)
    old.apply(bind(A, None, FIXED))
    assert on_more_axes(old, objects).runs[JOB].flavors == (FIXED,)
    assert on_more_axes(old, shown(job(A, name="other"))).runs[JOB].flavors == ({},)


def test_quota_that_was_granted_with_another_flavor_is_a_fact() -> None:
    """B was assumed on spot; A has quota on fixed, so that B waits again."""
    old = filled(shown(job(A, B)), on=AXES)
    old.apply(bind(B, None, SPOT))
    granted = shown(job(A, B), flavors=(FIXED,), a=ObservedPlace(None, 7))
    assert on_more_axes(old, granted).runs[JOB].pods == {A: Placed(None, 7)}


def test_a_pod_that_was_told_to_leave_leaves_where_it_is() -> None:
    at_n1, at_n2 = ObservedPlace("n1", 1), ObservedPlace("n2", 1)
    old = filled(shown(job(A, B, C), a=at_n1, b=at_n1, c=at_n1), on=AXES)
    old.apply(WorkloadLeaving(workload=JOB, pods=(A, B)))
    new = on_more_axes(old, shown(job(A, B, C), a=at_n1, b=at_n2, c=at_n1))
    phases = {pod: placed.phase for pod, placed in new.runs[JOB].pods.items()}
    assert phases == {A: "leaving", B: "running", C: "running"}
    # gpu of late, fpga, gpu of fixed, gpu of spot, gpu, cpu
    assert new.sums[TEAM].leaving == [0, 2, 0, 0, 1000, 1000]
    assert new.sums[TEAM].allocated == [0, 4, 0, 0, 2000, 2000]


def test_a_pod_that_is_shown_on_another_device_goes_on_leaving() -> None:
    """Devices are numbered anew when other pods come or go; the order to leave stands."""
    first, second = (DeviceShare(devices=(number,), part_e9=5 * 10**8) for number in (0, 1))
    old = filled(shown(job(A), a=ObservedPlace("n1", 1, first)), on=AXES)
    old.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    same = on_more_axes(old, shown(job(A), a=ObservedPlace("n1", 1, first)))
    assert same.runs[JOB].pods == {A: Placed("n1", 1, "leaving", first)}
    other = on_more_axes(old, shown(job(A), a=ObservedPlace("n1", 1, second)))
    assert other.runs[JOB].pods == {A: Placed("n1", 1, "leaving", second)}


def test_a_pod_without_a_node_that_got_quota_anew_does_not_leave() -> None:
    """It was told to leave the quota of moment 1; that of moment 2 is another."""
    old = filled(shown(job(A), a=ObservedPlace(None, 1)), on=AXES)
    old.apply(WorkloadLeaving(workload=JOB, pods=(A,)))
    same = on_more_axes(old, shown(job(A), a=ObservedPlace(None, 1)))
    assert same.runs[JOB].pods == {A: Placed(None, 1, "leaving")}
    anew = on_more_axes(old, shown(job(A), a=ObservedPlace(None, 2)))
    assert anew.runs[JOB].pods == {A: Placed(None, 2)}


def test_memory_is_that_of_the_old_state_as_far_as_it_can_be_true() -> None:
    seeded = KueueMemory(preempted_ms=1)
    objects = shown(job(A), memory=seeded)
    old = filled(objects, on=AXES)
    for memory in (KueueMemory(preempting=True), None):
        old.apply(MemoryChanged(JOB, memory))
        new = on_more_axes(old, objects)
        assert new.memories.get(JOB) == memory
        assert list(new.promised) == ([JOB] if memory else [])
    old.apply(WorkloadRemoved(JOB))
    assert on_more_axes(old, objects).memories == {JOB: seeded}  # only the new state has it


def test_a_nomination_of_a_pod_that_is_gone_is_forgotten() -> None:
    old = filled(shown(job(A, B, extension=ElasticPods())), on=AXES)
    old.apply(MemoryChanged(JOB, ElasticMemory(nominated={A: "n1", B: "n2"}, nominated_ms=5)))
    new = on_more_axes(old, shown(job(B, C, extension=ElasticPods())))
    assert new.memories == {JOB: ElasticMemory(nominated={B: "n2"}, nominated_ms=5)}
    other_rules = on_more_axes(old, shown(job(A, B, extension=KaiJob())))
    assert other_rules.memories == {}


def test_usage_is_kept_by_axis_and_is_none_on_new_ones() -> None:
    old = filled({}, on=AXES)
    old.apply(UsageChanged({TEAM: (1, 2, 3, 4), QueueName("not known"): (5, 0, 0, 0)}))
    # gpu of late, fpga, gpu of fixed, gpu of spot, gpu, cpu
    assert on_more_axes(old, {}).usage == {
        TEAM: (0, 0, 4, 3, 2, 1),
        "not known": (0, 0, 0, 0, 0, 5),
    }


def test_an_axis_that_is_no_more_takes_its_usage_along() -> None:
    old = filled({}, on=WIDER_AXES)
    old.apply(UsageChanged({TEAM: (9, 8, 4, 3, 2, 1)}))
    new = filled({}, on=AXES)
    carry_over(old, new)
    assert new.usage == {TEAM: (1, 2, 3, 4)}


def test_a_stale_gang_is_stale_since_the_same_moment() -> None:
    objects = shown(job(A, extension=KaiJob()), memory=KaiMemory(stale_since_ms=1))
    old = filled(objects, on=AXES)
    old.apply(MemoryChanged(JOB, KaiMemory(stale_since_ms=5)))
    assert on_more_axes(old, objects).memories == {JOB: KaiMemory(stale_since_ms=5)}
