"""Laws of taking a place from others, on random worlds that have run for a while."""

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.apply import apply
from fairlead.model.events import Event, WorkloadAdded
from fairlead.model.invariants import check_invariants
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.policy.kai.cycle import KaiCycle
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.room_bound import RoomBound
from fairlead.policy.kai.settings import ACTIONS, KaiSettings
from tests.model.test_state import facts
from tests.policy.kai.random_worlds import build, worlds

START_MS = 0
NOW_MS = 100_000

all_settings = st.builds(
    KaiSettings,
    actions=st.sampled_from([ACTIONS, ("reclaim",), ("preempt",), ("consolidation",)]),
    faithful=st.booleans(),
    reclaim_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
    preempt_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
)


@st.composite
def busy_worlds(draw: st.DrawFn) -> ClusterState:
    """A world in which the first jobs were started before the others came."""
    events: list[Event] = draw(worlds())
    jobs = [event for event in events if isinstance(event, WorkloadAdded)]
    late = jobs[draw(st.integers(0, len(jobs))) :]
    state = build(event for event in events if event not in late)
    apply(state, KaiPolicy(KaiSettings()).plan(state, START_MS))
    for event in late:
        state.apply(event)
    return state


def cycle(state: ClusterState, chosen: KaiSettings) -> list[Decision]:
    """Run a cycle, check the books in the middle, and see that nothing remains of it."""
    before = facts(state)
    with state.trial():
        decisions = KaiCycle(state, chosen, NOW_MS).decisions()
        check_invariants(state)
    assert facts(state) == before
    check_invariants(state)
    return decisions


@settings(max_examples=150)
@given(state=busy_worlds(), chosen=all_settings)
def test_nobody_loses_a_place_but_for_somebody_who_gets_one(
    state: ClusterState, chosen: KaiSettings
) -> None:
    decisions = cycle(state, chosen)
    served = {each.workload for each in decisions if isinstance(each, Reserve | Start)}
    for each in decisions:
        if isinstance(each, Evict | Move):
            assert each.beneficiary in served
            assert each.beneficiary != each.workload
            assert state.workloads[each.workload].preemptible


@settings(max_examples=100)
@given(state=busy_worlds())
def test_whoever_is_protected_keeps_what_it_needs(state: ClusterState) -> None:
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


@settings(max_examples=150)
@given(state=busy_worlds(), chosen=all_settings)
def test_tries_that_are_not_made_would_have_failed(
    state: ClusterState, chosen: KaiSettings
) -> None:
    decisions = cycle(state, chosen)
    with mock.patch.object(RoomBound, "allows", return_value=True):
        assert cycle(state, chosen) == decisions


@settings(max_examples=100)
@given(state=busy_worlds(), chosen=all_settings)
def test_what_is_promised_fits_once_everybody_has_left(
    state: ClusterState, chosen: KaiSettings
) -> None:
    with state.trial():
        KaiCycle(state, chosen, NOW_MS).decisions()
        for name, node in state.nodes.items():
            use = state.books.use(name)
            rows = zip(use.held, use.leaving, use.reserved, strict=True)
            later = [held - leaving + reserved for held, leaving, reserved in rows]
            parts = [held - leaving + kept for held, leaving, kept in use.devices.values()]
            later[2] += sum(1000 for part in parts if part)
            if node.ready:
                assert all(h <= size for h, size in zip(later, node.offered(), strict=True))
            assert all(part <= 10**9 for part in parts)
