"""Plans that are carried out come to an end: nobody takes places back and forth for ever."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.events import Event, WorkloadAdded
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSets
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.incremental.test_unschedulable import node, pod
from tests.policy.elastic_quota.plan_laws import checked_plan
from tests.policy.elastic_quota.quota_event import quota
from tests.policy.elastic_quota.random_world import (
    NOW_MS,
    ONE_NODE,
    OURS,
    PROTECTS_MIN,
    build,
    worlds,
)
from tests.scale_examples import scale_examples

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


@hypothesis_settings(max_examples=scale_examples(40))
@given(events=worlds(), settings=fixed)
def test_plans_end_where_nothing_else_happens(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    rounds_until_quiet(build(events), settings)


def test_two_pods_that_open_one_port_are_not_both_promised_one_node() -> None:
    """Both would keep the other from starting for ever, on a node that is empty by then."""
    pods = [event for title in ("b/one", "b/two") for event in pod(title, 1)]
    web = PodConstraints(host_ports=(("TCP", 80),))
    for at, event in enumerate(pods):
        assert isinstance(event, WorkloadAdded)
        (own,) = event.workload.pod_sets
        sets = (replace(own, constraints=web),)
        pods[at] = WorkloadAdded(replace(event.workload, pod_sets=PodSets(sets)))
    borrowers = [*pod("a/x", 1, on="n"), *pod("a/y", 1, on="n")]
    state = build([node("n", 2), quota("a", least=0), quota("b", least=2), *borrowers, *pods])
    rounds_until_quiet(state, OURS)
