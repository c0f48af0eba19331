"""What becomes of a pod that was promised a node, while others leave it and after."""

import pytest

from fairlead.model.events import NodeRemoved
from fairlead.model.plan import Evict
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import (
    OURS,
    add,
    apply_plan,
    cluster,
    cycles,
    gone,
    nominated,
    plan,
    reasons,
    told,
    with_node,
    with_quota,
)

BOTH = pytest.mark.parametrize("settings", [OURS, FAITHFUL], ids=["ours", "faithful"])


def lent(claimant: str = "p a 2 - 0 -") -> ClusterState:
    """Both have 4. B uses 6, so 2 of them are a's; a uses 2 and now asks for its other 2."""
    return cluster(
        "of min\na 4\nb 4",
        "name has\nn1 4\nn2 4",
        f"""
        name of asks on priority nominated
        a1   a  2    n1 0        -
        b1   b  2    n1 0        -
        b2   b  2    n2 1        -
        b3   b  2    n2 1        -
        {claimant}
        """,
    )


def while_b1_leaves() -> ClusterState:
    """B1 was told to leave n1, and p waits for it there."""
    state = lent()
    apply_plan(state, plan(state))
    assert nominated(state, "p") == ["n1"]
    return state


def comes(state: ClusterState, name: str, of: str, priority: int) -> None:
    """Let a pod of 2 come."""
    add(state, {"name": name, "of": of, "asks": "2", "priority": str(priority)})


@BOTH
def test_a_claim_is_waited_for_and_comes_to_a_start(settings: ElasticQuotaSettings) -> None:
    state = lent()
    assert told(plan(state, settings)) == [
        "evict b1 0 for p: MinTakenBack",
        "reserve n1 for p until b1 left",
    ]
    apply_plan(state, plan(state, settings))
    for _ in range(3):  # b1 takes its time; nobody else is told to leave
        assert told(plan(state, settings)) == ["reserve n1 for p until b1 left"]
        apply_plan(state, plan(state, settings))
    gone(state, "b1")
    assert told(plan(state, settings)) == [
        "wait b1: PoolExhausted",  # 6 used and 2 nominated, and 2: more than 8
        "start p on n1: WithinMin",
    ]
    apply_plan(state, plan(state, settings))
    assert nominated(state, "p") == []


def test_the_numbers_of_a_claim_are_told() -> None:
    planned = plan(lent())
    assert reasons(planned, "p") == ["TakesBack", "used 2 + request 2 <= min 4"]
    assert reasons(planned, "b1") == ["MinTakenBack", "used 6 > min 4"]
    assert reasons(plan(while_b1_leaves()), "p") == ["WaitsForLeaving"]


def test_what_a_nominated_pod_waits_for_counts_in_the_pool() -> None:
    """6 used, p's 2 nominated, and the 2 that b1 asks for again: 10 of 8."""
    state = while_b1_leaves()
    gone(state, "b1")
    assert reasons(plan(state), "b1") == [
        "PoolExhausted",
        "used by all 6 + nominated 2 + request 2 > all mins 8",
        "BeyondMin",
        "used 4 + request 2 > min 4",
    ]


@pytest.mark.parametrize(
    ("priority", "settings", "first"),
    [
        (0, FAITHFUL, "wait late: NoNodeFits"),  # 4 - 2 of a1 - 2 for p
        (-1, FAITHFUL, "wait late: NoNodeFits"),
        (1, FAITHFUL, "start late on n1: WithoutQuota"),
        (1, OURS, "wait late: NoNodeFits"),
    ],
)
def test_the_room_is_kept_from_a_pod_without_a_quota(
    priority: int, settings: ElasticQuotaSettings, first: str
) -> None:
    """The plugin keeps it only from those that are no more important."""
    state = while_b1_leaves()
    gone(state, "b1")
    comes(state, "late", "free", priority)
    assert first in told(plan(state, settings))


def test_a_more_important_pod_takes_the_nomination_away() -> None:
    """Vip takes a to its min of 4; p would be over it, and a has nobody less important than p."""
    state = while_b1_leaves()
    gone(state, "b1")
    comes(state, "vip", "a", 9)
    planned = plan(state)
    assert told(planned) == [
        "start vip on n1: WithinMin",
        "wait b1: PoolExhausted",
        "wait p: PoolExhausted",
    ]
    apply_plan(state, planned)
    assert nominated(state, "p") == []


def test_a_more_important_claim_displaces_a_nomination() -> None:
    """P waits on n1 for b1. Vip, with the same right and more important, is to have that place."""
    state = while_b1_leaves()
    comes(state, "vip", "a", 9)
    planned = plan(state)
    assert told(planned) == ["reserve n1 for vip until b1 left", "wait p: PoolExhausted"]
    apply_plan(state, planned)
    assert (nominated(state, "vip"), nominated(state, "p")) == (["n1"], [])


@pytest.mark.parametrize(
    ("priority", "outcome"),
    [
        # of a: 2 used and 2 nominated with priority 0, and 1: over the max of 4
        (0, "wait other: OverMax"),
        # p counts only for who is no more important: 2 used and 1
        (1, "start other on n1: WithinMin"),
    ],
)
def test_of_its_own_quota_only_who_is_as_important_counts(priority: int, outcome: str) -> None:
    state = cluster(
        "of min max\na 4 4\nb 4 -",
        "name has\nn1 9",
        f"""
        name  of asks on  priority nominated
        a1    a  2    n1  0        -
        p     a  2    -   0        n1
        other a  1    -   {priority} -
        """,
    )
    assert outcome in told(plan(state))


def test_nominated_pods_of_quotas_over_their_min_do_not_count_now() -> None:
    """A uses 3 of 2, so its nominated 1 is not counted: 3 + 0 + 1 of c are 4 of 4."""
    state = cluster(
        "of min\na 2\nc 2",
        "name has\nn1 3\nn2 3",
        "name of asks on nominated priority\na1 a 3 n1 - 0\na2 a 1 - n1 0\nc1 c 1 - - 9",
    )
    assert told(plan(state))[0] == "start c1 on n2: WithinMin"


def test_a_nomination_to_an_unknown_node_counts_for_nothing() -> None:
    """N9 is gone. P claims anew, as if it never had been nominated."""
    state = lent(claimant="p a 2 - 0 n9")
    assert told(plan(state)) == told(plan(lent()))


@pytest.mark.parametrize("is_removed", [False, True])
def test_who_waits_for_a_node_that_is_lost_claims_another(is_removed: bool) -> None:
    """B gave up 2 for p already, and uses 4 of 4: nobody borrows any more, until quotas change."""
    state = while_b1_leaves()
    if is_removed:
        state.apply(NodeRemoved("n1"))
    else:
        with_node(state, "n1", cordoned=True)
    assert told(plan(state)) == ["wait p: PoolExhausted"]
    with_quota(state, "b", guaranteed=(2,))  # now b borrows 2, and n2 is all that is left
    with_quota(state, "a", guaranteed=(6,))
    planned = plan(state)
    assert told(planned) == ["evict b3 0 for p: MinTakenBack", "reserve n2 for p until b3 left"]
    apply_plan(state, planned)
    assert nominated(state, "p") == ["n2"]


def test_who_never_preempts_waits_for_room() -> None:
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 4",
        "name of asks on policy\nb1 b 4 n1 -\np a 2 - Never",
    )
    planned = plan(state)
    assert told(planned) == ["wait p: PoolExhausted"]
    assert reasons(planned, "p") == [
        "PoolExhausted",
        "used by all 4 + request 2 > all mins 4",
        "b has 4, 2 borrowed",
        "NeverPreempts",
    ]


def test_a_wait_ends_the_nomination_and_opens_the_node_at_once() -> None:
    """A's max was lowered to 0 while p waited for n1, where b's pod of 2 has room."""
    state = cluster(
        "of min max\na 2 0\nb 4 -",
        "name has\nn1 2",
        "name of asks on priority nominated\np a 2 - 5 n1\nb1 b 2 - 0 -",
    )
    planned = plan(state)
    assert told(planned) == ["wait p: OverMax", "start b1 on n1: WithinMin"]
    apply_plan(state, planned)
    assert nominated(state, "p") == []


def four_claims(settings: ElasticQuotaSettings) -> list[list[str]]:
    """A has 4 and uses none; b borrowed them in two pods of 2. Then four pods of 1 ask."""
    return list(
        cycles(
            cluster(
                "of min\na 4\nb 0",
                "name has\nn1 2\nn2 2",
                "name of asks on\nb1 b 2 n1\nb2 b 2 n2\np a 1 -\nq a 1 -\nr a 1 -\ns a 1 -",
            ),
            settings,
        )
    )


def test_two_claims_share_what_one_victim_leaves() -> None:
    assert four_claims(OURS) == [
        [
            "evict b1 0 for p: MinTakenBack",
            "reserve n1 for p until b1 left",
            "reserve n1 for q until b1 left",
            "evict b2 0 for r: MinTakenBack",
            "reserve n2 for r until b2 left",
            "reserve n2 for s until b2 left",
        ],
        [
            "wait b1: PoolExhausted",
            "wait b2: PoolExhausted",
            "start p on n1: WithinMin",
            "start q on n1: WithinMin",
            "start r on n2: WithinMin",
            "start s on n2: WithinMin",
        ],
        ["wait b1: PoolExhausted", "wait b2: PoolExhausted"],
    ]


def test_as_the_plugin_who_leaves_counts_still_so_some_claims_wait() -> None:
    """R finds 4 used and 2 nominated. One victim of 2 is too few: 4 - 2 + 2 + 1 > 4."""
    first, second, third, _ = four_claims(FAITHFUL)
    assert first == [
        "evict b1 0 for p: MinTakenBack",
        "reserve n1 for p until b1 left",
        "reserve n1 for q until b1 left",
        "wait r: PoolExhausted",
        "wait s: PoolExhausted",
    ]
    assert second[3:] == [
        "evict b2 0 for r: MinTakenBack",
        "reserve n2 for r until b2 left",
        "reserve n2 for s until b2 left",
    ]
    assert third[2:] == ["start r on n2: WithinMin", "start s on n2: WithinMin"]


@BOTH
def test_nobody_more_is_evicted_than_what_claims_need(settings: ElasticQuotaSettings) -> None:
    """B borrows 2 of its 4: p and q together are entitled to one pod of b, whichever it is."""
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 2\nn2 2",
        "name of asks on\nb1 b 2 n1\nb2 b 2 n2\np a 1 -\nq a 1 -",
    )
    evicted = [each.workload for each in plan(state, settings).decisions if isinstance(each, Evict)]
    assert evicted == ["b1"]
    assert list(cycles(state, settings))[1] == [
        "wait b1: PoolExhausted",
        "start p on n1: WithinMin",
        "start q on n1: WithinMin",
    ]


def test_a_victim_that_comes_back_as_the_most_important_does_not_go_round_for_ever() -> None:
    """The pool of 16 refuses nobody, and b1 outranks p; but p is within its min and b1 is not."""
    state = cluster(
        "of min\na 4\nb 2\nc 10",
        "name has\nn1 4",
        "name of asks on priority\nb1 b 4 n1 9\np a 4 - 0",
    )
    assert list(cycles(state)) == [
        ["evict b1 0 for p: TakenBelowMin", "reserve n1 for p until b1 left"],
        ["wait b1: NoNodeFits", "start p on n1: WithinMin"],
        ["wait b1: NoNodeFits"],
    ]


def test_a_claim_waits_for_all_who_leave_if_a_rule_refuses_it() -> None:
    """N3 is free, but a is at its max of 2 until a1 and a2 have left n1 and n2."""
    state = cluster(
        "of min max\na 2 2\nb 9 -",
        "name has\nn1 1\nn2 1\nn3 2",
        "name of asks on priority\na1 a 1 n1! 0\na2 a 1 n2! 0\na3 a 2 - 5",
    )
    assert told(plan(state)) == ["reserve n3 for a3 until a1 a2 left"]


def test_who_is_held_back_waits_for_no_node_any_more() -> None:
    """Low left n1 for its own p0, who borrows; now b comes for its min of 3, and n1 has just 3."""
    state = cluster(
        "of min\na 0\nb 4",
        "name has\nn1 3",
        "name of asks on priority nominated\np0 a 2 - 2 n1\nb1 b 3 - 1 -",
    )
    assert told(plan(state)) == ["wait p0: WouldBeEvicted", "start b1 on n1: WithinMin"]


def test_a_gang_that_is_not_ready_waits_for_no_node_any_more() -> None:
    """One of the three pods is gone since two of them were promised n1."""
    state = cluster(
        "of min\na 6",
        "name has\nn1 4",
        "name of asks needs nominated priority\ng a 2x2 3 n1,n1 9\ns a 4 1 - 0",
    )
    assert told(plan(state)) == ["wait g: NotReady", "start s on n1: WithinMin"]
