"""What is published of quotas is the same, whether it is followed or summed anew."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Event, WorkloadFinished
from fairlead.model.execution.executor import apply
from fairlead.policy.elastic_quota.incremental.published_usage import PublishedUsage
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.quota.shares import published_used
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.random_world import NOW_MS, build, random_settings, worlds
from tests.scale_examples import scale_examples


@given(
    events=worlds(),
    settings=random_settings,
    data=st.data(),
)
@hypothesis_settings(max_examples=scale_examples(200))
def test_usage_that_is_followed_is_usage_that_is_summed(
    events: list[Event], settings: ElasticQuotaSettings, data: st.DataObject
) -> None:
    """Plans are tried and carried out, and workloads finish; not after each step it is read."""
    state = build(events)
    followed, policy = PublishedUsage(state), ElasticQuotaPolicy(settings)
    for step in range(4):
        if data.draw(st.booleans(), label="look"):
            assert followed.used() == published_used(state)
        apply(state, policy.plan(state, NOW_MS + 60_000 * step))
        over = data.draw(
            st.sets(st.sampled_from(sorted(state.workloads) or [WorkloadName("")])), label="over"
        )
        for name in sorted(over & state.workloads.keys()):
            state.apply(WorkloadFinished(name))
    assert followed.used() == published_used(state)
