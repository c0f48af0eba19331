"""The search that looks only at nodes that can win finds what judging every node finds."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from fairlead.model.events import Event
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.node_search import Claim
from fairlead.policy.elastic_quota.quota.pending_pod import Asker
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
    desk = Desk(state, settings, NOW_MS)
    for workload in state.workloads.values():
        desk.nominate_all(workload)
    for asker in waiting(desk):
        claim = Claim(desk, asker, desk.admission.refusal(asker))
        outcomes = claim.outcomes().values()
        choices = [each for each in outcomes if each.is_choice(desk.looks_later)]
        assert claim.best() == min(choices, key=lambda each: each.key, default=None)


def waiting(desk: Desk) -> Iterator[Asker]:
    """Yield every pod of a workload that has no place."""
    for name, workload in desk.state.workloads.items():
        run = desk.state.runs.get(name)
        for pod in workload.pods():
            if run is None or pod not in run.pods:
                yield desk.asker(workload, pod)
