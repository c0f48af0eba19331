"""Pods that start together or not at all, and what others give up for them."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadStopped
from fairlead.model.memory import ElasticMemory
from fairlead.model.plan import Evict, Plan
from fairlead.model.workload import numbered_pod
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import (
    OURS,
    apply_plan,
    cluster,
    cycles,
    gone,
    nominated,
    plan,
    reasons,
    told,
)

ONE_NODE_EACH = ElasticQuotaSettings(cross_node_preemption=False)
EACH_MODE = pytest.mark.parametrize(
    "settings", [OURS, ONE_NODE_EACH, FAITHFUL], ids=["ours", "one node each", "faithful"]
)


@EACH_MODE
def test_a_gang_starts_with_all_it_needs_or_not_at_all(settings: ElasticQuotaSettings) -> None:
    nodes = "name has\nn1 2\nn2 1"
    four = cluster("of min\na 9", nodes, "name of asks needs\ng a 4x1 4\ns a 1 1")
    three = cluster("of min\na 9", nodes, "name of asks needs\ng a 3x1 3\ns a 1 1")
    assert told(plan(four, settings)) == ["wait g: NoNodeFits", "start s on n1: WithinMin"]
    assert told(plan(three, settings)) == ["start g on n1 n1 n2: WithinMin", "wait s: NoNodeFits"]


def test_the_sum_is_held_against_max_and_pool() -> None:
    """Each pod of 2 would be within both; three are 6 of 5."""
    gang = "name of asks needs\ng a 3x2 3"
    over_max = cluster("of min max\na 2 5\nb 9 -", "name has\nn1 9", gang)
    over_pool = cluster("of min\na 2\nb 3", "name has\nn1 9", gang)
    assert reasons(plan(over_max), "g") == [
        "OverMax",
        "used 0 + request 6 > max 5",
        "BeyondMin",
        "used 0 + request 6 > min 2",
    ]
    assert reasons(plan(over_pool), "g") == [
        "PoolExhausted",
        "used by all 0 + request 6 > all mins 5",
        "BeyondMin",
        "used 0 + request 6 > min 2",
    ]


@pytest.mark.parametrize(
    ("least", "first"),
    [
        ("3", "start g on n1 n1: WithinMin"),  # less than its pods: their 4 count
        ("5", "start g on n1 n1: Borrows"),  # 5 > min 4, and 5 <= 6 of the pool
        ("7", "wait g: PoolExhausted"),
    ],
)
def test_the_least_that_a_gang_says_it_needs_counts_if_it_is_more(least: str, first: str) -> None:
    state = cluster(
        "of min\na 4\nb 2", "name has\nn1 9", f"name of asks needs least\ng a 2x2 2 {least}"
    )
    assert told(plan(state)) == [first]


def test_one_pod_too_may_need_more_than_it_asks_for() -> None:
    state = cluster("of min\na 4", "name has\nn1 9", "name of asks needs least\ng a 1x2 1 5")
    assert told(plan(state)) == ["wait g: PoolExhausted"]


def test_what_its_pods_have_counts_towards_the_least_that_it_needs() -> None:
    """It needs 4 in all and one pod has 2 of them, so 2 more: 2 + 2 <= 4."""
    state = cluster(
        "of min\na 4",
        "name has\nn1 9",
        "name of asks needs least on\ng a 2x2 2 4 n1,-",
    )
    assert reasons(plan(state), "g") == ["WithinMin", "used 2 + request 2 <= min 4"]


def test_a_gang_with_too_few_pods_is_not_ready() -> None:
    state = cluster("of min\na 9", "name has\nn1 9", "name of asks needs\ng a 2x2 3")
    assert reasons(plan(state), "g") == ["NotReady", "2 of 3 pods that it needs are there"]


def test_a_gang_with_gated_pods_waits_for_the_gates() -> None:
    state = cluster("of min\na 9", "name has\nn1 9", "name of asks needs gated\ng a 3x1 3 yes")
    assert reasons(plan(state), "g") == ["SchedulingGated", "3 of 3 pods have a scheduling gate"]


def test_pods_beyond_what_a_gang_needs_start_one_by_one() -> None:
    state = cluster("of min\na 9", "name has\nn1 2\nn2 2", "name of asks needs\ng a 5x1 2")
    assert told(plan(state)) == [
        "start g on n1 n1: WithinMin",
        "start g on n2: WithinMin",
        "start g on n2: WithinMin",
        "wait g: NoNodeFits",
    ]


def test_pods_beyond_it_do_not_hold_a_gang_up_that_cannot_start() -> None:
    state = cluster("of min\na 9", "name has\nn1 1", "name of asks needs\ng a 5x1 2")
    assert told(plan(state)) == ["wait g: NoNodeFits"]


@EACH_MODE
def test_a_gang_that_lost_a_pod_asks_for_what_it_misses(settings: ElasticQuotaSettings) -> None:
    """A uses 2 of 3; b borrows 1 of it, and gives it back for the missing pod."""
    state = cluster(
        "of min\na 3\nb 1",
        "name has\nn1 2\nn2 2",
        "name of asks needs on\ng a 3x1 3 n1,-,n2\nb1 b 1 1 n1\nb2 b 1 1 n2",
    )
    assert list(cycles(state, settings)) == [
        ["evict b1 0 for g: MinTakenBack", "reserve n1 for g until b1 left"],
        ["wait b1: PoolExhausted", "start g on n1: WithinMin"],
        ["wait b1: PoolExhausted"],
    ]


def test_a_gang_of_which_a_pod_is_leaving_is_not_ready() -> None:
    state = cluster("of min\na 9", "name has\nn1 9", "name of asks needs on\ng a 4x1 4 n1,n1!,-,-")
    assert reasons(plan(state), "g") == ["NotReady", "3 of 4 pods that it needs are there"]
    state.apply(WorkloadStopped(workload=WorkloadName("g"), pods=(numbered_pod("g", 1),)))
    assert told(plan(state)) == ["start g on n1 n1 n1: WithinMin"]


def borrowed(least_a: int, least_b: int, gang: str = "g a 2x2 2 -") -> str:
    """B runs three pods of 2, one on each node; a's gang asks for 4."""
    state = cluster(
        f"of min\na {least_a}\nb {least_b}",
        "name has\nn1 2\nn2 2\nn3 2",
        f"name of asks needs on\nb1 b 2 1 n1\nb2 b 2 1 n2\nb3 b 2 1 n3\n{gang}",
    )
    return "\n".join(told(plan(state)))


def test_a_gang_takes_back_what_is_its_own_for_all_its_pods() -> None:
    assert borrowed(4, 2).splitlines() == [
        "evict b1 0 for g: MinTakenBack",
        "evict b2 0 for g: MinTakenBack",
        "reserve n1 n2 for g until b1 b2 left",
    ]


def test_a_gang_over_its_min_as_a_whole_takes_nothing_from_others() -> None:
    """One pod of 2 would be within the min of 3; both are not."""
    assert borrowed(3, 3) == "wait g: PoolExhausted"


def test_nobody_is_evicted_for_a_part_of_a_gang() -> None:
    """B is 2 over its 4, so it gives one pod: room for one of two, and b1 stays."""
    assert borrowed(4, 4) == "wait g: PoolExhausted"


@pytest.mark.parametrize("settings", [OURS, ONE_NODE_EACH], ids=["ours", "one node each"])
def test_a_gang_waits_as_one_and_starts_as_one(settings: ElasticQuotaSettings) -> None:
    state = cluster(
        "of min\na 4\nb 0",
        "name has\nn1 2\nn2 2",
        "name of asks needs on\nb1 b 2 1 n1\nb2 b 2 1 n2\ng a 2x2 2 -",
    )
    apply_plan(state, plan(state, settings))
    assert nominated(state, "g") == ["n1", "n2"]
    gone(state, "b1")  # n1 is free, but one pod alone does not start
    waiting = plan(state, settings)
    assert told(waiting)[-1] == "reserve n1 n2 for g until b2 left"
    assert not any(isinstance(each, Evict) for each in waiting.decisions)
    apply_plan(state, waiting)
    gone(state, "b2")
    assert told(plan(state, settings))[-1] == "start g on n1 n2: WithinMin"


def test_as_the_plugin_who_leaves_for_one_pod_is_in_the_way_of_the_next() -> None:
    """For the second pod 4 are used still, and 2 nominated: 4 - 2 + 2 + 2 of the pool of 4."""
    state = cluster(
        "of min\na 4\nb 0",
        "name has\nn1 2\nn2 2",
        "name of asks needs on\nb1 b 2 1 n1\nb2 b 2 1 n2\ng a 2x2 2 -",
    )
    assert told(plan(state, FAITHFUL)) == ["wait g: PoolExhausted"]


def timed_out(now_ms: int) -> tuple[Plan, list[str], Plan]:
    """G waits for its nodes since 40 s, for a minute at most. Returns two plans, and what is kept.

    B1 and b2 do not leave; b has 2, and a pod of 2 that waits.
    """
    state = cluster(
        "of min\na 4\nb 2",
        "name has\nn1 2\nn2 2",
        """
        name of asks needs on  timeout nominated nominatedAt priority
        b1   b  2    1     n1! -       -         -           0
        b2   b  2    1     n2! -       -         -           0
        g    a  2x2  2     -   60      n1,n2     40000       5
        late b  2    1     -   -       -         -           0
        """,
    )
    first = plan(state, now_ms=now_ms)
    apply_plan(state, first)
    memory = state.memories.get(WorkloadName("g"), ElasticMemory())
    assert isinstance(memory, ElasticMemory)
    assert (memory.nominated_ms is None) == (not memory.nominated)
    return first, nominated(state, "g"), plan(state, now_ms=now_ms + 1000)


def test_a_gang_holds_its_nodes_until_its_time_is_up() -> None:
    first, kept, second = timed_out(40_000 + 60_000 - 1)
    assert told(first) == ["reserve n1 n2 for g until b1 b2 left", "wait late: PoolExhausted"]
    assert kept == ["n1", "n2"]
    assert told(second)[0] == "wait g: ScheduleTimedOut"


def test_a_gang_whose_time_is_up_gives_up_all_its_nodes() -> None:
    first, kept, second = timed_out(40_000 + 60_000)
    assert told(first) == ["wait g: ScheduleTimedOut", "reserve n1 for late until b1 left"]
    assert kept == []
    # Then it may try again. It is more important, but what was promised to late is kept for it.
    assert told(second) == ["wait g: PoolExhausted", "reserve n1 for late until b1 left"]


def test_a_gang_whose_time_is_up_is_told_so_after_one_like_it_was_refused() -> None:
    """Both want 4 of a max of 3. Late waits for nodes that are gone, so it is like the other."""
    state = cluster(
        "of min max\na 2 3",
        "name has\nn1 9",
        """
        name of asks needs timeout nominated nominatedAt
        g    a  2x2  2     60      -         -
        late a  2x2  2     60      n8,n9     40000
        """,
    )
    assert told(plan(state, now_ms=99_999)) == ["wait g: OverMax", "wait late: OverMax"]
    in_time = ["wait g: OverMax", "wait late: ScheduleTimedOut"]
    assert told(plan(state, now_ms=100_000)) == in_time
    policy = ElasticQuotaPolicy(OURS)
    policy.plan(state, 99_999)
    assert told(policy.plan(state, 100_000)) == in_time


def test_pods_of_unlike_sizes_start_wherever_all_fit() -> None:
    """The first pod, of 3, would take n1 with its 4, and leave the one of 4 nothing but n2's 3."""
    state = cluster("of min\na 7", "name has\nn1 4\nn2 3", "name of asks needs\ng a 1x3+1x4 2")
    assert told(plan(state)) == ["start g on n2 n1: WithinMin"]


def test_pods_of_unlike_sizes_wait_where_all_will_fit() -> None:
    """The same, with b1 and b2 to leave: the pod of 3 alone would wait on n1."""
    state = cluster(
        "of min\na 7\nb 0",
        "name has\nn1 4\nn2 3",
        "name of asks needs on\nb1 b 4 1 n1\nb2 b 3 1 n2\ng a 1x3+1x4 2 -",
    )
    assert list(cycles(state))[:2] == [
        [
            "evict b1 0 for g: MinTakenBack",
            "evict b2 0 for g: MinTakenBack",
            "reserve n2 n1 for g until b1 b2 left",
        ],
        ["wait b1: PoolExhausted", "wait b2: PoolExhausted", "start g on n2 n1: WithinMin"],
    ]


def test_pods_that_may_not_share_a_node_start_apart() -> None:
    nodes = "name has\nn1 9\nn2 1"
    apart = "name of asks needs app apart\ng a {}x1 {} x x"
    assert told(plan(cluster("of min\na 9", nodes, apart.format(2, 2)))) == [
        "start g on n1 n2: WithinMin"
    ]
    assert told(plan(cluster("of min\na 9", nodes, apart.format(3, 3)))) == ["wait g: NoNodeFits"]


def test_others_leave_for_pods_that_may_not_share_a_node_where_they_help() -> None:
    """B1 and b2 would leave room for both on n1; but one has to leave each node."""
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 2\nn2 2",
        """
        name of asks needs on app apart
        g    a  2x1  2     -  x   x
        b1   b  1    1     n1 -   -
        b2   b  1    1     n1 -   -
        b3   b  1    1     n2 -   -
        b4   b  1    1     n2 -   -
        """,
    )
    first, second, _ = cycles(state)
    assert first == [
        "evict b2 0 for g: MinTakenBack",
        "evict b4 0 for g: MinTakenBack",
        "reserve n1 n2 for g until b2 b4 left",
    ]
    assert second[-1] == "start g on n1 n2: WithinMin"


def test_a_gang_that_never_preempts_waits() -> None:
    gang = "g a 2x2 2 -"
    assert borrowed(4, 2, gang).startswith("evict")
    state = cluster(
        "of min\na 4\nb 2",
        "name has\nn1 2\nn2 2\nn3 2",
        f"name of asks needs on policy\nb1 b 2 1 n1 -\nb2 b 2 1 n2 -\nb3 b 2 1 n3 -\n{gang} Never",
    )
    assert reasons(plan(state), "g") == [
        "PoolExhausted",
        "used by all 6 + request 4 > all mins 6",
        "b has 6, 4 borrowed",
        "NeverPreempts",
    ]


def test_nobody_leaves_in_vain_for_a_gang() -> None:
    """For the first pod b3, of 1, would be enough; once b4, of 3, leaves for the second, it stays.

    N1 has 1 free, so 4 are there with b4 gone: room for both pods of 2.
    """
    state = cluster(
        "of min\na 4\nb 0\nc 9",
        "name has\nn1 5",
        """
        name of asks needs on priority
        b3   b  1    1     n1 0
        b4   b  3    1     n1 1
        g    a  2x2  2     -  0
        """,
    )
    assert told(plan(state)) == [
        "evict b4 0 for g: MinTakenBack",
        "reserve n1 n1 for g until b4 left",
    ]


def test_a_gang_takes_one_large_place_rather_than_two_small_ones() -> None:
    """For one pod of 2, b1 and b3 do equal harm, and b1 lost less. For two, b3 alone is enough."""
    state = cluster(
        "of min\na 4\nb 0\nc 9",
        "name has\nn1 2\nn2 2\nn3 4",
        """
        name of asks needs on since
        b1   b  2    1     n1 9
        b2   b  2    1     n2 9
        b3   b  4    1     n3 1
        g    a  2x2  2     -  -
        """,
    )
    assert told(plan(state)) == [
        "evict b3 0 for g: MinTakenBack",
        "reserve n3 n3 for g until b3 left",
    ]


def test_a_gang_reserves_nothing_that_it_can_never_use() -> None:
    """It says that it needs 10 where all have 4: other pods start."""
    state = cluster(
        "of min\na 4",
        "name has\nn1 4",
        "name of asks needs least created\ng a 2x1 2 10 1\ns a 4 1 - 2",
    )
    assert told(plan(state)) == ["wait g: PoolExhausted", "start s on n1: WithinMin"]
