"""Laws of taking a place from others, on random worlds that have run for a while."""

from operator import add
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Event, ForeignPodChanged, NodeAdded, QueueChanged, WorkloadAdded
from fairlead.model.execution.executor import apply
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, LeftPending, Move, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, KaiJob, PodSet, PodSets, Workload
from fairlead.placement.node_index import NodeIndex
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.policy import KaiPolicy, fast_backend
from fairlead.policy.kai.pruning.room import RoomBound
from fairlead.policy.kai.settings import ACTIONS, KaiSettings
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.policy.changes import changes_of
from tests.policy.kai.random_worlds import build, foreign_pods, gpus, queues, worlds
from tests.scale_examples import scale_examples

START_MS = 0
NOW_MS = 100_000

all_settings = st.builds(
    KaiSettings,
    actions=st.sampled_from([ACTIONS, ("reclaim",), ("preempt",), ("consolidation",)]),
    faithful=st.booleans(),
    queue_depth=st.sampled_from([(), (), (("allocate", 1),), (("allocate", 1), ("reclaim", 1))]),
    reclaim_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
    preempt_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
)


@st.composite
def contended_queues(draw: st.DrawFn) -> list[Event]:
    """Two departments, and teams that are guaranteed less than the nodes have."""
    events: list[Event] = []
    for at in range(draw(st.integers(2, 5))):
        name, parent = (f"d{at}", None) if at < 2 else (f"t{at}", f"d{at % 2}")
        made = draw(queues(name, parent))
        quota = draw(gpus(3)) if at else 0
        events.append(
            QueueChanged(replace(made, guaranteed=(None, None, quota), ceiling=(None,) * 3))
        )
    return events


@st.composite
def small_jobs(draw: st.DrawFn, name: str, queue: str) -> Workload:
    """Pods of a GPU or two, or of half a GPU, that can mostly be preempted."""
    count = draw(st.integers(1, 3))
    share = draw(st.sampled_from([None, None, None, GpuShare(thousandths=500)]))
    gpu = 500 if share else draw(st.sampled_from([1000, 1000, 2000]))
    priority = draw(st.sampled_from([50, 50, 75, 100]))
    pods = PodSet(name=name, count=count, min_count=0, requests=(100, 10**6, gpu), gpu_share=share)
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((pods,)),
        min_count=draw(st.integers(1, count)),
        priority=priority,
        preemptible=priority < 100,
        created_ms=draw(st.integers(0, 3)),
        extension=KaiJob(),
    )


@st.composite
def busy_worlds(draw: st.DrawFn) -> ClusterState:
    """Full nodes: the jobs of some queues were started before those of the others came."""
    events = draw(contended_queues())
    for at in range(draw(st.integers(1, 3))):
        size = (64_000, 10**9, draw(st.sampled_from([2000, 3000, 4000])))
        events.append(NodeAdded(Node(name=f"n{at}", allocatable=size)))
    for at in range(draw(st.sampled_from([0, 0, 1, 2]))):
        events.append(ForeignPodChanged(draw(foreign_pods(f"x/{at}"))))
    state = build(events)
    leaves = [str(name) for name in state.queues if not state.children(name)]
    for number in range(draw(st.integers(3, 9))):
        state.apply(
            WorkloadAdded(draw(small_jobs(f"r{number}", draw(st.sampled_from(leaves[:1])))))
        )
    apply(state, KaiPolicy(KaiSettings()).plan(state, START_MS))
    for number in range(draw(st.integers(1, 4))):
        state.apply(WorkloadAdded(draw(small_jobs(f"p{number}", draw(st.sampled_from(leaves))))))
    return state


def cycle(state: ClusterState, chosen: KaiSettings) -> list[Decision]:
    """Run a cycle, check the books in the middle, and see that nothing remains of it."""
    before = facts(state)
    with state.trial():
        decisions = KaiCycle(state, chosen, NOW_MS, fast_backend(state, chosen)).decisions()
        check_invariants(state)
    assert facts(state) == before
    check_invariants(state)
    return decisions


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_a_job_loses_its_place_only_for_a_job_that_gets_one(
    state: ClusterState, chosen: KaiSettings
) -> None:
    """The peer may take a place again that it gave in the same cycle; we do not."""
    decisions = cycle(state, replace(chosen, faithful=False))
    served = {each.workload for each in decisions if isinstance(each, Reserve | Start)}
    for each in decisions:
        if isinstance(each, Evict | Move) and each.reason.code != "StaleGang":
            assert each.beneficiary in served
            assert each.beneficiary != each.workload
            assert state.workloads[each.workload].preemptible


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_the_changes_are_the_plan_without_its_waits(
    state: ClusterState, chosen: KaiSettings
) -> None:
    policy = KaiPolicy(chosen)
    told = policy.plan(state, NOW_MS).decisions
    expected = [each for each in told if not isinstance(each, LeftPending)]
    assert changes_of(policy, state, NOW_MS) == expected
    assert changes_of(KaiPolicy(chosen), state, NOW_MS) == expected


@settings(max_examples=scale_examples(50))
@given(state=busy_worlds())
def test_a_protected_job_keeps_its_minimum(state: ClusterState) -> None:
    """All of them started 100 s ago, and may run for 200."""
    chosen = KaiSettings(
        actions=("allocate", "reclaim", "preempt"),  # consolidation does not ask
        reclaim_min_runtime_ms=200_000,
        preempt_min_runtime_ms=200_000,
    )
    evicted = {each.workload: each.pods for each in cycle(state, chosen) if isinstance(each, Evict)}
    for name, pods in evicted.items():
        left = len(state.runs[name].pods) - len(pods)
        assert left >= state.workloads[name].min_count


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_skipped_attempts_would_have_failed(state: ClusterState, chosen: KaiSettings) -> None:
    decisions = cycle(state, chosen)
    with mock.patch.object(RoomBound, "allows", return_value=True):
        assert cycle(state, chosen) == decisions


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(60))
@given(state=st.builds(build, worlds()), chosen=all_settings)
def test_gangs_that_are_not_placed_one_by_one_would_not_have_fitted(
    state: ClusterState, chosen: KaiSettings
) -> None:
    """In our own mode it is that count which says who meets, so others may come first there."""
    faithful = replace(chosen, faithful=True)
    changes = changes_of(KaiPolicy(faithful), state, NOW_MS)
    with mock.patch.object(NodeIndex, "places", return_value=None):
        assert changes_of(KaiPolicy(faithful), state, NOW_MS) == changes


@settings(max_examples=scale_examples(50))
@given(state=busy_worlds(), chosen=all_settings)
def test_what_is_reserved_fits_once_all_terminating_pods_have_left(
    state: ClusterState, chosen: KaiSettings
) -> None:
    with state.trial():
        KaiCycle(state, chosen, NOW_MS, fast_backend(state, chosen)).decisions()
        for name, node in state.nodes.items():
            use = state.books.use(name)
            rows = zip(use.held, use.leaving, use.reserved, strict=True)
            later = [held - leaving + reserved for held, leaving, reserved in rows]
            parts = [held - leaving + kept for held, leaving, kept in use.devices.values()]
            later[2] += sum(1000 for part in parts if part)
            if node.ready:
                free = map(add, state.books.offered(node), state.books.occupied(name).leaving)
                assert all(h <= size for h, size in zip(later, free, strict=True))
            assert all(part <= 10**9 for part in parts)
