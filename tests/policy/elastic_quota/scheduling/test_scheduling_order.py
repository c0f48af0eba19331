"""Who has the first turn, where it starts, and by which numbers others do not."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.selector import Taint
from fairlead.model.workload import PodConstraints, PodSets
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import (
    cluster,
    cycles,
    plan,
    reasons,
    told,
    used,
    with_node,
    with_workload,
)

PACKED = ElasticQuotaSettings(scoring="MostAllocated")


def test_turns_go_by_priority_then_age_then_name() -> None:
    state = cluster(
        "of min\na 9",
        "name has\nn1 2",
        """
        name  of asks priority created
        young a  1    5        9
        zoe   a  1    5        1
        vip   a  1    9        9
        adam  a  1    5        1
        """,
    )
    assert told(plan(state)) == [
        "start vip on n1: WithinMin",
        "start adam on n1: WithinMin",  # as old as zoe
        "wait zoe: NoNodeFits",
        "wait young: NoNodeFits",
    ]


def test_a_smaller_pod_behind_one_that_waits_starts() -> None:
    state = cluster("of min\na 9", "name has\nn1 2", "name of asks created\nbig a 3 1\nsmall a 2 2")
    assert told(plan(state)) == ["wait big: NoNodeFits", "start small on n1: WithinMin"]


def lending() -> dict[str, list[str]]:
    """A has 4 (at most 6) and b 6. Of the pool of 10, a uses 4 and b 3 until a asks for more."""
    state = cluster(
        "of min max\na 4 6\nb 6 8",
        "name has\nn1 10",
        """
        name of asks on created
        a1   a  4    n1 0
        b1   b  3    n1 0
        a2   a  1    -  1
        a3   a  2    -  2
        b2   b  2    -  3
        """,
    )
    planned = plan(state)
    assert told(planned) == [
        "start a2 on n1: Borrows",
        "wait a3: OverMax",
        "start b2 on n1: WithinMin",
    ]
    return {name: reasons(planned, name) for name in ("a2", "a3", "b2")}


def test_a_pod_over_the_min_borrows_from_the_pool() -> None:
    assert lending()["a2"] == [
        "Borrows",
        "used 4 + request 1 > min 4",
        "used by all 7 + request 1 <= all mins 10",
    ]


def test_a_pod_over_the_max_waits_with_the_numbers() -> None:
    assert lending()["a3"] == [
        "OverMax",
        "used 5 + request 2 > max 6",
        "BeyondMin",
        "used 5 + request 2 > min 4",
    ]


def test_a_pod_within_the_min_starts_in_its_own_right() -> None:
    assert lending()["b2"] == ["WithinMin", "used 3 + request 2 <= min 6"]


def test_the_pool_is_everybodys_min_and_names_who_borrows_from_it() -> None:
    """The pool is 2 + 3 + 2 = 7 and all of it is used, though 9 - 7 = 2 are free on the node."""
    state = cluster(
        "of min\na 2\nb 3\nc 2",
        "name has\nn1 9",
        "name of asks on\na1 a 3 n1\nb1 b 4 n1\nb2 b 1 -",
    )
    assert reasons(plan(state), "b2") == [
        "PoolExhausted",
        "used by all 7 + request 1 > all mins 7",
        "a has 3, 1 borrowed",
        "b has 4, 1 borrowed",
        "BeyondMin",
        "used 4 + request 1 > min 3",
    ]


def test_pods_without_quota_start_and_count_nowhere() -> None:
    state = cluster(
        "of min\na 2",
        "name has\nn1 9",
        "name of asks priority\nfree nobody 6 9\na1 a 2 0\nmore nobody 2 0",
    )
    planned = plan(state)
    assert told(planned) == [
        "start free on n1: WithoutQuota",
        "start a1 on n1: WithinMin",  # of the pool of 2, nothing is used
        "wait more: NoNodeFits",  # 9 - 6 - 2 = 1
    ]
    assert reasons(planned, "more") == [
        "NoNodeFits",
        "1 of 1 nodes lack gpu",
        "NobodyLessImportant",
    ]
    list(cycles(state))
    assert used(state) == {"a": 2}


def test_what_each_node_lacks_is_counted() -> None:
    state = cluster(
        "of min\na 9,9",
        "name has\nn1 1,9\nn2 9,1\nn3 1,1\nn4 1,8\nn5 9,9",
        "name of asks\nbig a 2,2",
        resources="cpu,gpu",
    )
    with_node(state, "n5", cordoned=True)
    assert reasons(plan(state), "big") == [
        "NoNodeFits",
        "2 of 5 nodes lack cpu",
        "1 of 5 nodes are cordoned",
        "1 of 5 nodes lack cpu and gpu",
        "1 of 5 nodes lack gpu",
        "NobodyBorrows",
    ]


def test_a_constraint_that_no_filter_knows_waits_with_its_name() -> None:
    state = cluster("of min\na 9", "name has\nn1 9", "name of asks\npod a 1")
    (only,) = state.workloads[WorkloadName("pod")].pod_sets
    odd = PodConstraints(unsupported=("resourceClaims",))
    with_workload(state, "pod", pod_sets=PodSets((replace(only, constraints=odd),)))
    assert reasons(plan(state), "pod") == ["UnsupportedConstraint", "resourceClaims"]


def test_a_gated_pod_waits_for_its_gate() -> None:
    state = cluster("of min\na 9", "name has\nn1 9", "name of asks gated\npod a 1 yes")
    assert reasons(plan(state), "pod") == [
        "SchedulingGated",
        "1 of 1 pods have a scheduling gate",
    ]


@pytest.mark.parametrize(
    ("settings", "node"),
    # cpu and memory in use with the pod: n1 (4+2)/8 = 75 %, n2 (1+2)/8 = 38 %, n3 (2+2)/8 = 50 %
    [(ElasticQuotaSettings(), "n2"), (PACKED, "n1")],
)
def test_pods_go_where_least_is_allocated_or_where_most_is(
    settings: ElasticQuotaSettings, node: str
) -> None:
    state = cluster(
        "of min\na 99,99",
        "name has\nn1 8,8\nn2 8,8\nn3 8,8",
        "name of asks on\na1 a 4,4 n1\na2 a 1,1 n2\na3 a 2,2 n3\npod a 2,2 -",
        resources="cpu,memory",
    )
    assert told(plan(state, settings)) == [f"start pod on {node}: WithinMin"]


def test_packing_fills_a_node_before_it_opens_another() -> None:
    pods = "name of asks created\n" + "\n".join(f"p{number} a 2 {number}" for number in range(4))
    state = cluster("of min\na 9", "name has\nn1 4\nn2 4", pods, resources="cpu")
    assert told(plan(state, PACKED)) == [
        "start p0 on n1: WithinMin",
        "start p1 on n1: WithinMin",
        "start p2 on n2: WithinMin",
        "start p3 on n2: WithinMin",
    ]
    assert told(plan(state)) == [
        "start p0 on n1: WithinMin",
        "start p1 on n2: WithinMin",
        "start p2 on n1: WithinMin",
        "start p3 on n2: WithinMin",
    ]


def test_a_node_that_is_merely_avoided_comes_last() -> None:
    state = cluster("of min\na 9", "name has\nn1 4\nn2 4", "name of asks\np1 a 4\np2 a 4")
    gentle = Taint(key="spot", effect="PreferNoSchedule")
    with_node(state, "n1", taints=(gentle,))
    assert told(plan(state)) == ["start p1 on n2: WithinMin", "start p2 on n1: WithinMin"]


def test_a_resource_that_a_pod_does_not_ask_for_does_not_stop_it() -> None:
    """B's stray device is in nobody's min: 1 used > 0. A asks for cpu only."""
    state = cluster(
        "of min\na 4,0\nb 4,0",
        "name has\nn1 9,9",
        "name of asks on\nb1 b 1,1 n1\na1 a 2,0 -\na2 a 1,1 -",
        resources="cpu,device",
    )
    planned = plan(state)
    assert told(planned) == ["start a1 on n1: WithinMin", "wait a2: PoolExhausted"]
    assert reasons(planned, "a2")[:3] == [
        "PoolExhausted",
        "used by all 1 + request 1 > all mins 0",
        "b has 1, 1 borrowed",
    ]


def test_a_pod_that_would_be_evicted_at_once_is_not_started() -> None:
    """A would borrow 2 of b's 6; b, who is next, then has 10 - 3 - 6 = 1 of the 2 that it needs."""
    state = cluster(
        "of min\na 4\nb 6",
        "name has\nn1 10",
        "name of asks on created\na1 a 4 n1 0\nb1 b 3 n1 0\na2 a 2 - 1\nb2 b 2 - 2",
    )
    assert list(cycles(state)) == [
        ["wait a2: WouldBeEvicted", "start b2 on n1: WithinMin"],
        ["wait a2: PoolExhausted"],
    ]
