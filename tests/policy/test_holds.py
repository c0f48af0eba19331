"""What is held is left alone, for this plan and no other, under all rules."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.events import Event
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.elastic_quota import random_world as elastic
from tests.policy.kai import random_worlds as kai
from tests.policy.kueue.incremental.test_state import LargerHistory
from tests.policy.kueue.plan_world import NOW_MS
from tests.policy.kueue.random_plan_world import PlanWorld, plan_worlds
from tests.policy.random_holds import HeldHistory
from tests.scale_examples import scale_examples

STEPS = 8
seeds = st.integers(0, 2**40)


@settings(max_examples=scale_examples(60), deadline=None)
@given(
    events=kai.worlds(),
    faithful=st.booleans(),
    depth=st.sampled_from([(), (("allocate", 1),)]),
    seed=seeds,
)
def test_under_kais_rules(
    events: list[Event], faithful: bool, depth: tuple[tuple[str, int], ...], seed: int
) -> None:
    chosen = KaiSettings(faithful=faithful, queue_depth=depth)
    HeldHistory(kai.build(events), chosen, seed, 0).live(STEPS)


@settings(max_examples=scale_examples(60), deadline=None)
@given(events=elastic.worlds(), chosen=elastic.random_settings, seed=seeds)
def test_under_elastic_quotas(events: list[Event], chosen: ElasticQuotaSettings, seed: int) -> None:
    HeldHistory(elastic.build(events), chosen, seed, elastic.NOW_MS).live(STEPS)


@settings(max_examples=scale_examples(60), deadline=None)
@given(world=plan_worlds(), seed=seeds)
def test_under_kueues_rules(world: PlanWorld, seed: int) -> None:
    HeldHistory(world.state(), world.settings, seed, NOW_MS).live(STEPS)


@settings(max_examples=scale_examples(30), deadline=None)
@given(seed=seeds, faithful=st.booleans())
def test_under_kueues_rules_where_the_state_is_followed(seed: int, faithful: bool) -> None:
    history = LargerHistory(seed, faithful=faithful)
    for _ in range(30):
        history.step()
    HeldHistory(history.state, history.settings, seed, history.now_ms).live(STEPS)


def test_something_is_held_in_most_of_these_histories() -> None:
    history = LargerHistory(1, faithful=False)
    for _ in range(30):
        history.step()
    lived = HeldHistory(history.state, history.settings, 1, history.now_ms)
    lived.live(STEPS)
    assert lived.refused > STEPS // 2
