"""Laws of plans under ElasticQuotas, on random clusters and in every mode."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairlead.model.events import CatalogueChanged, Event, NodeAdded, QueueChanged, WorkloadAdded
from fairlead.model.plan import Start
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.plan_laws import checked_plan
from tests.policy.elastic_quota.random_world import NOW_MS, build, random_settings, worlds
from tests.scale_examples import scale_examples


@hypothesis_settings(max_examples=scale_examples(120))
@given(events=worlds(), settings=random_settings)
def test_no_decision_breaks_a_rule(events: list[Event], settings: ElasticQuotaSettings) -> None:
    checked_plan(build(events), settings)


@pytest.mark.exhaustive
@hypothesis_settings(max_examples=scale_examples(60))
@given(events=worlds(), settings=random_settings)
def test_a_policy_that_planned_before_plans_the_same(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    state = build(events)
    policy = ElasticQuotaPolicy(settings)
    first = policy.plan(state, NOW_MS)
    assert policy.plan(state, NOW_MS) == first
    assert ElasticQuotaPolicy(settings).plan(state, NOW_MS) == first
    assert policy.plan(build(events), NOW_MS) == first


@hypothesis_settings(max_examples=scale_examples(60))
@given(events=worlds(), settings=random_settings, data=st.data())
def test_the_order_in_which_things_are_listed_changes_nothing(
    events: list[Event], settings: ElasticQuotaSettings, data: st.DataObject
) -> None:
    things: list[list[Event]] = []
    for event in events:
        if isinstance(event, NodeAdded | QueueChanged | CatalogueChanged | WorkloadAdded):
            things.append([])
        things[-1].append(event)
    shuffled = [event for thing in data.draw(st.permutations(things)) for event in thing]
    plans = [ElasticQuotaPolicy(settings).plan(build(them), NOW_MS) for them in (events, shuffled)]
    assert plans[0] == plans[1]


def test_worlds_are_such_that_pods_start() -> None:
    """The laws would hold of worlds where nothing ever happens, too."""
    seen: set[type] = set()

    @hypothesis_settings(max_examples=scale_examples(60), database=None, derandomize=True)
    @given(events=worlds())
    def look(events: list[Event]) -> None:
        plan = ElasticQuotaPolicy(ElasticQuotaSettings()).plan(build(events), NOW_MS)
        seen.update(map(type, plan.decisions))

    look()
    assert Start in seen
