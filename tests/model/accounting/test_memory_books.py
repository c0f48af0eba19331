"""What is remembered of workloads: changed by its own event only, and gone with its subject."""

import pytest
from msgspec.structs import replace

from fairlead.errors import StateError
from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Event,
    MemoryChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
)
from fairlead.model.memory import ElasticMemory, GaveWay, KaiMemory, KueueMemory, Memory, Promise
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    KaiJob,
    KueueWorkload,
    Workload,
    WorkloadExtension,
)
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.worlds import queue, started, state_with, workload

W, OTHER = WorkloadName("w"), WorkloadName("other")
KUEUE = KueueWorkload(local_queue="jobs")
PREEMPTING = KueueMemory(preempting=True)


def work(extension: WorkloadExtension | None, pods: int = 1) -> Workload:
    return replace(workload("w", "q", pods=pods), extension=extension)


def state_of(extension: WorkloadExtension | None, memory: Memory | None = None) -> ClusterState:
    """A cluster with one workload of three pods and what is remembered of it."""
    state = state_with(queue("q"), work(extension, pods=3))
    state.apply(MemoryChanged(W, memory))
    check_invariants(state)
    return state


def nominated(*nodes: str | None) -> ElasticMemory:
    """The pods of the workload wait for these nodes, the first for the first one."""
    pods = zip(work(None, pods=len(nodes)).pods(), nodes, strict=True)
    return ElasticMemory(nominated={pod: node for pod, node in pods if node}, nominated_ms=5)


def change(state: ClusterState, *events: Event) -> None:
    for event in events:
        state.apply(event)
        check_invariants(state)


MEMORIES: dict[str, tuple[WorkloadExtension, Memory, bool]] = {  # and whether a place is promised
    "others give way to it": (KUEUE, PREEMPTING, True),
    "it was promised flavors": (
        KUEUE,
        KueueMemory(promise=Promise(flavors=({},), counts=(1,), waits_for=(OTHER,))),
        True,
    ),
    "it gave way": (
        KUEUE,
        KueueMemory(gave_way=(GaveWay(OTHER, "InClusterQueue"),), preempted_ms=7),
        False,
    ),
    "it is stale": (KaiJob(), KaiMemory(stale_since_ms=0), False),
    "pods are nominated": (ElasticPods(), nominated("n1", None, "n3"), True),
}
each_memory = pytest.mark.parametrize(
    ("extension", "memory", "is_promised"), MEMORIES.values(), ids=MEMORIES.keys()
)


@each_memory
def test_a_memory_is_kept_beside_the_workload_whatever_becomes_of_the_object(
    extension: WorkloadExtension, memory: Memory, is_promised: bool
) -> None:
    state = state_of(extension, memory)
    changed = replace(work(extension, pods=4), priority=9, active=False)
    change(state, WorkloadChanged(changed), started("w", None, pods=2))
    assert state.memories == {W: memory}
    assert (W in state.promised) is is_promised


@each_memory
@pytest.mark.parametrize("end", [WorkloadFinished(W), WorkloadRemoved(W)], ids=["done", "removed"])
def test_a_memory_ends_with_its_workload_so_the_next_of_that_name_has_none(
    extension: WorkloadExtension, memory: Memory, is_promised: bool, end: Event
) -> None:
    state = state_of(extension, memory)
    change(state, end, WorkloadAdded(work(extension)))
    assert not state.memories
    assert not state.promised


@each_memory
def test_a_change_of_memory_is_one_of_the_workload_and_can_be_undone(
    extension: WorkloadExtension, memory: Memory, is_promised: bool
) -> None:
    state = state_of(extension)
    before, moment = facts(state), state.touched.moment
    with state.trial():
        change(state, MemoryChanged(W, memory))
        assert state.memories == {W: memory}
        assert state.touched.since(moment) == [W]
    assert facts(state) == before
    assert state.touched.since(moment) == [W], "the undoing is a change, too"


@each_memory
@pytest.mark.parametrize("is_none", [True, False])
def test_an_empty_memory_is_none(
    extension: WorkloadExtension, memory: Memory, is_promised: bool, is_none: bool
) -> None:
    state = state_of(extension, memory)
    change(state, MemoryChanged(W, None if is_none else type(memory)()))
    assert not state.memories
    assert not state.promised


@pytest.mark.parametrize(
    ("pods", "left"),
    [(3, nominated("n1", None, "n3")), (2, nominated("n1", None)), (1, nominated("n1")), (0, None)],
)
def test_a_nomination_ends_with_its_pod_and_the_others_stay(
    pods: int, left: ElasticMemory | None
) -> None:
    """Of three pods the first and the third are nominated since 5; the last ones go."""
    state = state_of(ElasticPods(), nominated("n1", None, "n3"))
    change(state, WorkloadChanged(work(ElasticPods(), pods=pods)))
    assert state.memories.get(W) == left
    assert list(state.promised) == ([W] if left else [])


def test_a_workload_that_comes_under_other_rules_is_not_remembered() -> None:
    state = state_of(KUEUE, PREEMPTING)
    change(state, WorkloadChanged(work(ElasticPods(), pods=3)))
    assert not state.memories


REFUSED: dict[str, tuple[WorkloadExtension | None, Event, str]] = {
    "of a workload that is not known": (KUEUE, MemoryChanged(OTHER, PREEMPTING), "not known"),
    "of another rule set": (ElasticPods(), MemoryChanged(W, PREEMPTING), "not about it"),
    "of a workload of no rule set": (None, MemoryChanged(W, PREEMPTING), "not about it"),
    "of a pod that is not there": (
        ElasticPods(),
        MemoryChanged(W, nominated(None, None, None, "n4")),
        "not about it",
    ),
}


@pytest.mark.parametrize(("extension", "event", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_memory_that_cannot_be_true_is_refused_and_changes_nothing(
    extension: WorkloadExtension | None, event: Event, message: str
) -> None:
    state = state_of(extension)
    before = facts(state)
    with pytest.raises(StateError, match=message):
        state.apply(event)
    assert facts(state) == before
