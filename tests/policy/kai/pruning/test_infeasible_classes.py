"""A class of jobs without room is looked at again when nodes may have gained enough.

Nodes have 8 GPUs. A gang of three pods of 8 waits; single GPUs are held by others.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import ForeignPodChanged, NodeAdded, WorkloadFinished
from fairlead.model.state import ClusterState
from fairlead.model.workload import numbered_pod
from fairlead.placement.node_index import _MOST_GROWTHS
from fairlead.policy.kai.actions.allocate import Feasibility
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.jobs.start_job import JobStarter, Shortage
from fairlead.policy.kai.pruning.prefilter import BoundsPrefilter
from fairlead.policy.kai.settings import KaiSettings
from tests.model.foreign import foreign_pod
from tests.model.worlds import node, queue, started, state_with, workload

GANG = WorkloadName("gang")


def world(held: dict[str, int]) -> ClusterState:
    """Some nodes, on each of which so many jobs have a GPU; and the gang, which waits."""
    jobs = [f"{name}-{number}" for name, count in held.items() for number in range(count)]
    parts = [workload(job, "team", cpu=0) for job in jobs]
    gang = workload(GANG, "team", pods=3, cpu=0, gpu=8000)
    state = state_with(queue("team"), *map(node, held), *parts, gang)
    for job in jobs:
        state.apply(started(job, job.split("-")[0]))
    return state


def finish(state: ClusterState, job: str) -> None:
    state.apply(WorkloadFinished(WorkloadName(job)))


def look(bounds: BoundsPrefilter) -> None:
    """Take notice of the kinds for which there is no room, as a cycle does."""
    sources = bounds.sources
    sources.pending.queues()
    starter = JobStarter(sources.state, sources.finder, 0)
    Feasibility(sources.pending.summaries(), starter, bounds.infeasible)


def is_known_infeasible(bounds: BoundsPrefilter) -> bool:
    pods = tuple(numbered_pod("main", number) for number in range(3))
    return bounds.sources.pending.job_class(GANG, pods) in bounds.infeasible.all()


def test_a_gang_is_infeasible_until_as_many_nodes_are_whole_as_it_lacks() -> None:
    """One of four nodes is idle: two are lacking."""
    state = world({"a": 0, "b": 1, "c": 2, "d": 3})
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    look(bounds)
    assert is_known_infeasible(bounds)
    finish(state, "d-0")  # two others still have a part of that node
    assert is_known_infeasible(bounds)
    finish(state, "b-0")  # the first of two
    assert is_known_infeasible(bounds)
    finish(state, "c-0")
    assert is_known_infeasible(bounds)
    finish(state, "c-1")  # the second
    assert not is_known_infeasible(bounds)


def test_a_node_that_comes_may_be_all_that_was_lacking() -> None:
    state = world({"a": 0, "b": 0})
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    look(bounds)
    assert is_known_infeasible(bounds)
    state.apply(NodeAdded(node("c")))
    assert not is_known_infeasible(bounds)


def test_a_terminating_foreign_pod_may_hold_all_that_was_lacking() -> None:
    """It has one of 8 GPUs of the third node, and then of the fourth."""
    state = world({"a": 0, "b": 0, "c": 0, "d": 1})
    pod = foreign_pod("x/f", "c", (0, 1000))
    state.apply(ForeignPodChanged(pod))
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    look(bounds)
    assert is_known_infeasible(bounds)
    state.apply(ForeignPodChanged(replace(pod, leaving=True, node="d")))  # c is whole
    assert not is_known_infeasible(bounds)
    state.apply(ForeignPodChanged(pod))
    look(bounds)
    assert is_known_infeasible(bounds)
    state.apply(ForeignPodChanged(replace(pod, leaving=True)))
    assert not is_known_infeasible(bounds)


def test_a_class_that_was_not_read_for_long_is_read_again() -> None:
    """So many growths are not remembered, although none of them was a whole node."""
    state = world({"a": 0, "b": 8})
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    look(bounds)
    for _ in range(_MOST_GROWTHS + 1):
        with state.trial():
            finish(state, "b-0")
            bounds.sources.finder.growth()
        bounds.sources.finder.growth()
    assert not is_known_infeasible(bounds)


@pytest.mark.parametrize(("growths", "is_infeasible"), [(0, True), (1, False)])
def test_for_part_of_a_device_any_growth_is_more(growths: int, *, is_infeasible: bool) -> None:
    """Its size is that of a pod that asks for nothing: amounts do not tell where it fits."""
    state = world({"a": 8})
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    bounds.infeasible.all()
    bounds.infeasible.add(JobClass(0), Shortage((), 1))
    for number in range(growths):
        finish(state, f"a-{number}")
    assert (JobClass(0) in bounds.infeasible.all()) is is_infeasible


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.data())
def test_a_class_without_a_known_shortage_may_have_room(
    gone: list[str], data: st.DataObject
) -> None:
    """What is remembered never says of a gang with room that there is none."""
    held = {name: data.draw(st.integers(0, 3)) for name in "abcd"}
    state = world(held)
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    for name in gone:
        look(bounds)
        if held[name]:
            held[name] -= 1
            finish(state, f"{name}-{held[name]}")
        has_room = sum(not count for count in held.values()) >= 3
        assert not (has_room and is_known_infeasible(bounds))
