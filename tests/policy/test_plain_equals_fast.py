"""Every rule set decides the same both ways: plain, and with all that makes it fast.

A rule set without an entry in `CASES` fails here. Each has further tests of its shortcuts.
"""

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.execution.executor import apply
from fairlead.model.state import ClusterState
from fairlead.policy.contract import POLICY_NAMES, PolicyName, Settings, make_policy
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.elastic_quota import random_world as elastic
from tests.policy.kai import random_worlds as kai
from tests.policy.kai.actions.test_attempt_laws import all_settings, busy_worlds
from tests.policy.kueue.plan_world import NOW_MS
from tests.policy.kueue.random_plan_world import plan_worlds
from tests.policy.random_holds import HeldHistory, random_holds
from tests.scale_examples import scale_examples

STEPS = 5
START_MS = 100_000


class Case(NamedTuple):
    """A cluster and how an administrator set the rules."""

    state: ClusterState
    settings: Settings
    now_ms: int


CASES: dict[PolicyName, st.SearchStrategy[Case]] = {
    "kai": st.builds(Case, busy_worlds(), all_settings, st.just(START_MS))
    | st.builds(
        Case,
        kai.worlds().map(kai.build),
        st.builds(KaiSettings, faithful=st.booleans()),
        st.just(START_MS),
    ),
    "kueue": plan_worlds().map(lambda world: Case(world.state(), world.settings, NOW_MS)),
    "elastic-quota": st.builds(
        Case,
        elastic.worlds().map(elastic.build),
        elastic.random_settings,
        st.just(elastic.NOW_MS),
    ),
}


@pytest.mark.parametrize("name", POLICY_NAMES)
@settings(max_examples=scale_examples(80), deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**40))
def test_plans_are_the_same_from_step_to_step(
    name: PolicyName, data: st.DataObject, seed: int
) -> None:
    """Both plan for one state, with something held and other things happening in between."""
    case, chance = data.draw(CASES[name]), Random(seed)
    plain, fast = make_policy(case.settings, plain=True), make_policy(case.settings)
    history = HeldHistory(case.state, case.settings, seed, case.now_ms)
    for _ in range(STEPS):
        state, now_ms = history.state, history.now_ms
        held, explain = random_holds(chance, state), chance.random() < 0.5
        expected = plain.plan(state, now_ms, held=held, explain=explain)
        found = fast.plan(state, now_ms, held=held, explain=explain)
        assert found.decisions == expected.decisions
        assert found.memories == expected.memories
        apply(state, expected)
        history.go_on()
