"""Law: the fast way decides like the plain one, which reads and tries everything."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.events import Event
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.state import ClusterState
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.kai.actions.test_attempt_laws import NOW_MS, all_settings, busy_worlds
from tests.policy.kai.random_worlds import build, worlds
from tests.scale_examples import scale_examples


def check_cycles(state: ClusterState, chosen: KaiSettings, *, explain: bool) -> None:
    """Plan both ways and carry the plan out, a few cycles in a row."""
    plain, fast = KaiPolicy(chosen, plain=True), KaiPolicy(chosen)
    for cycle in range(3):
        now_ms = NOW_MS + 1000 * cycle
        expected = plain.plan(state, now_ms, explain=explain)
        found = fast.plan(state, now_ms, explain=explain)
        assert found.decisions == expected.decisions
        assert found.memories == expected.memories
        carry_out(state, expected.decisions, now_ms, keeps_reservations=True)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings, explain=st.booleans())
def test_on_full_nodes(state: ClusterState, chosen: KaiSettings, explain: bool) -> None:
    check_cycles(state, chosen, explain=explain)


@settings(max_examples=scale_examples(60))
@given(events=worlds(), faithful=st.booleans(), explain=st.booleans())
def test_on_nodes_with_room(events: list[Event], faithful: bool, explain: bool) -> None:
    check_cycles(build(events), KaiSettings(faithful=faithful), explain=explain)


@given(events=worlds())
def test_shares_are_the_same(events: list[Event]) -> None:
    state = build(events)
    chosen = KaiSettings()
    assert KaiPolicy(chosen).shares(state) == KaiPolicy(chosen, plain=True).shares(state)
