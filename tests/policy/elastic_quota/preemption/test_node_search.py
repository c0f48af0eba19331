"""The search that looks only at nodes that can win finds what judging every node finds."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from fairlead.model.events import Event
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.random_world import (
    NOW_MS,
    build,
    modes,
    random_settings,
    worlds,
)
from tests.scale_examples import scale_examples

pytestmark = pytest.mark.exhaustive


@hypothesis_settings(max_examples=scale_examples(150))
@given(events=worlds(), settings=random_settings)
def test_the_best_node_is_the_least_harmful_of_all(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    check_every_claim(build(events), settings)


@hypothesis_settings(max_examples=scale_examples(120))
@given(events=worlds(plain=True, most=14), settings=modes)
def test_the_best_node_is_the_least_harmful_in_a_crowd(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    check_every_claim(build(events), settings)


def check_every_claim(state: ClusterState, settings: ElasticQuotaSettings) -> None:
    context = PlanningContext(state, settings, NOW_MS)
    for workload in state.workloads.values():
        context.restore_nominations(workload)
    for pending in waiting(context):
        preemption = PodPreemption(context, pending, context.admission.violation(pending))
        outcomes = preemption.outcomes().values()
        choices = [each for each in outcomes if each.is_choice(context.expects_termination)]
        assert preemption.best() == min(choices, key=lambda each: each.cost, default=None)


def waiting(context: PlanningContext) -> Iterator[PendingPod]:
    """Yield every pod of a workload that has no place."""
    for name, workload in context.state.workloads.items():
        run = context.state.runs.get(name)
        for pod in workload.pods():
            if run is None or pod not in run.pods:
                yield context.pending_pod(workload, pod)
