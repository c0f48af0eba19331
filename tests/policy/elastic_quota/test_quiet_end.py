"""Plans that are carried out come to an end: nobody takes places back and forth for ever."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.events import Event, WorkloadAdded
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import LeftPending
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSets
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.incremental.test_unschedulable import node, pod
from tests.policy.elastic_quota.plan_laws import checked_plan
from tests.policy.elastic_quota.plan_world import cluster, cycles
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
        if all(isinstance(each, LeftPending) for each in plan.decisions):
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


def test_a_pod_stays_held_back_for_one_that_is_held_back_itself() -> None:
    """A4 waits for b0, and b0 for a6. If a4 started in the meantime, b0 would reclaim for ever."""
    state = cluster(
        "of min\na 3\nb 3",
        "name has\nn0 3\nn1 2\nn2 4",
        "name of asks created on\n"
        "b0 b 1 5 -\nb1 b 1 2 -\nb2 b 1 5 -\nb3 b 1 5 -\na4 a 2 2 -\na5 a 2 4 n0\na6 a 1 5 -",
    )
    told_each = list(cycles(state))
    assert not any(line.startswith(("start", "evict")) for line in told_each[-1])
