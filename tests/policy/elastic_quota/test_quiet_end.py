"""Plans that are carried out come to an end: nobody takes places back and forth for ever."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairlead.model.after_plan import carry_out
from fairlead.model.events import Event
from fairlead.model.invariants import check_invariants
from fairlead.model.plan import Wait
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.plan_laws import checked_plan
from tests.policy.elastic_quota.random_world import (
    NOW_MS,
    ONE_NODE,
    OURS,
    PROTECTS_MIN,
    build,
    worlds,
)

ROUNDS = 30
fixed = st.sampled_from([OURS, PROTECTS_MIN, ONE_NODE])


def rounds_until_quiet(state: ClusterState, settings: ElasticQuotaSettings) -> int:
    """Carry plan after plan out; returns how many it took until nobody did anything but wait."""
    policy = ElasticQuotaPolicy(settings)
    for number in range(ROUNDS):
        now_ms = NOW_MS + 1000 * number
        plan = checked_plan(state, settings, policy, now_ms)
        carry_out(state, plan.decisions, now_ms, keeps_reservations=False)
        check_invariants(state)
        if all(isinstance(each, Wait) for each in plan.decisions):
            return number
    raise AssertionError(f"still busy after {ROUNDS} rounds: {plan.decisions}")


@hypothesis_settings(max_examples=60)
@given(events=worlds(), settings=fixed)
def test_plans_end_where_nothing_else_happens(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    rounds_until_quiet(build(events), settings)
