"""What is kept from plan to plan, and what is skipped, changes no decision."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairlead.model.events import Event
from fairlead.model.execution.executor import apply
from fairlead.model.plan import LeftPending
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.random_world import NOW_MS, build, random_settings, worlds
from tests.scale_examples import scale_examples


@given(events=worlds(), settings=random_settings, asks=st.lists(st.booleans(), min_size=4))
@hypothesis_settings(max_examples=scale_examples(200))
def test_plain_and_incremental_plans_are_equal(
    events: list[Event], settings: ElasticQuotaSettings, asks: list[bool]
) -> None:
    """Both policies plan for one state, again after each plan was carried out."""
    state = build(events)
    plain = ElasticQuotaPolicy(settings, plain=True)
    incremental = ElasticQuotaPolicy(settings)
    for step, explain in enumerate(asks[:4]):
        now_ms = NOW_MS + 60_000 * step
        expected = plain.plan(state, now_ms)
        plan = incremental.plan(state, now_ms, explain=explain)
        wanted = [
            each for each in expected.decisions if explain or not isinstance(each, LeftPending)
        ]
        assert [*plan.decisions] == wanted
        unexplained = plain.plan(state, now_ms, explain=False)
        assert not any(isinstance(each, LeftPending) for each in unexplained.decisions)
        apply(state, expected)
