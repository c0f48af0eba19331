"""What is kept from plan to plan changes no decision: a plain policy plans the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.execution.executor import apply
from fairlead.policy.kueue.policy import KueuePolicy
from tests.policy.kueue.incremental.test_state import STEPS, History, LargerHistory
from tests.policy.kueue.plan_world import NOW_MS
from tests.policy.kueue.random_plan_world import PlanWorld, plan_worlds
from tests.scale_examples import scale_examples


@settings(max_examples=scale_examples(40), deadline=None)
@given(plan_worlds())
def test_a_plain_policy_plans_the_same_in_any_world(world: PlanWorld) -> None:
    state = world.state()
    fast, plain = KueuePolicy(world.settings), KueuePolicy(world.settings, plain=True)
    for now_ms in range(NOW_MS, NOW_MS + 4):
        planned = plain.plan(state, now_ms)
        assert fast.plan(state, now_ms) == planned
        changes = plain.plan(state, now_ms, explain=False).decisions
        assert fast.plan(state, now_ms, explain=False).decisions == changes
        assert planned.decisions[: len(changes)] == changes
        apply(state, planned)


@pytest.mark.parametrize("history", [History, LargerHistory])
@settings(max_examples=scale_examples(10), deadline=None)
@given(seed=st.integers(0, 2**40), faithful=st.booleans())
def test_a_plain_policy_plans_the_same_after_each_change(
    history: type[History], seed: int, faithful: bool
) -> None:
    """In worlds whose changes a policy can follow."""
    world = history(seed, faithful=faithful)
    plain = KueuePolicy(world.settings, plain=True)
    for _ in range(STEPS):
        world.step()
        fast = world.policy.plan(world.state, world.now_ms, explain=False)
        planned = plain.plan(world.state, world.now_ms, explain=False)
        assert fast.decisions == planned.decisions
        apply(world.state, planned)
