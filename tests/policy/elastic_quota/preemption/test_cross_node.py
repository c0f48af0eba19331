"""Room taken on several nodes at once, and who leaves for it."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Evict
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.workload import PodConstraints, PodSets
from fairlead.policy.elastic_quota.preemption.node_search import EXHAUSTIVE_LIMIT
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import (
    HOST,
    OURS,
    cluster,
    cycles,
    plan,
    reasons,
    told,
    used,
    with_workload,
)

ONE_NODE = ElasticQuotaSettings(cross_node_preemption=False)
PROTECTED = ElasticQuotaSettings(protect_min=True)


def evicted(quotas: str, nodes: str, pods: str, budgets: str = "") -> list[str]:
    """Return who leaves in the first plan, after which whoever claimed must start at once."""
    state = cluster(quotas, nodes, pods, budgets)
    first = plan(state)
    _, second, *_ = cycles(state)
    assert any(each.startswith("start") for each in second)
    return [each.workload for each in first.decisions if isinstance(each, Evict)]


def two_halves(settings: ElasticQuotaSettings) -> list[list[str]]:
    """Story S4: quota1 has no min and runs 1 on each node; quota2 has 2 and asks for them."""
    state = cluster(
        "of min max\nquota1 0 2\nquota2 2 2",
        "name has\nn1 2\nn2 2",
        "name of asks on\none quota1 1 n1\ntwo quota1 1 n2\nboth quota2 2 -",
    )
    return list(cycles(state, settings))


def test_a_guarantee_that_was_lent_in_pieces_comes_back() -> None:
    """One victim is not enough for the pool: 2 - 1 + 2 > 2."""
    assert two_halves(OURS) == [
        [
            "evict one 0 for both: MinTakenBack",
            "evict two 0 for both: MinTakenBack",
            "reserve n1 for both until one two left",
        ],
        ["start both on n1: WithinMin", "wait one: PoolExhausted", "wait two: PoolExhausted"],
        ["wait one: PoolExhausted", "wait two: PoolExhausted"],
    ]


@pytest.mark.parametrize("settings", [ONE_NODE, FAITHFUL], ids=["switched off", "faithful"])
def test_on_one_node_alone_it_does_not(settings: ElasticQuotaSettings) -> None:
    assert two_halves(settings) == [["wait both: PoolExhausted"]]


def test_the_pool_is_filled_from_three_nodes() -> None:
    """3 are used of 3 and b asks for 3: all must leave, though n1 alone has room for it."""
    state = cluster(
        "of min\na 0\nb 3",
        "name has\nn1 4\nn2 1\nn3 1",
        "name of asks on\na1 a 1 n1\na2 a 1 n2\na3 a 1 n3\nb1 b 3 -",
    )
    assert told(plan(state)) == [
        "evict a1 0 for b1: MinTakenBack",
        "evict a2 0 for b1: MinTakenBack",
        "evict a3 0 for b1: MinTakenBack",
        "reserve n1 for b1 until a1 a2 a3 left",
    ]
    assert reasons(plan(state), "b1") == ["TakesBack", "used 0 + request 3 <= min 3"]
    assert reasons(plan(state), "a3") == ["MinTakenBack", "used 3 > min 0"]


def test_a_namespace_over_its_max_gives_up_its_own_on_several_nodes() -> None:
    """A is at its max of 2, in two pods; n3 is free and has room for its more important one."""
    state = cluster(
        "of min max\na 2 2\nb 9 -",
        "name has\nn1 1\nn2 1\nn3 2",
        "name of asks on priority\na1 a 1 n1 0\na2 a 1 n2 1\na3 a 2 - 5",
    )
    planned = plan(state)
    assert told(planned) == [
        "evict a2 0 for a3: PreemptedByPriority",
        "evict a1 0 for a3: PreemptedByPriority",
        "reserve n3 for a3 until a1 a2 left",
    ]
    assert reasons(planned, "a3") == ["Preempts", "priority 5 > priority 1"]
    list(cycles(state))
    assert used(state) == {"a": 2, "b": 0}


def test_its_own_that_are_as_important_are_not_given_up() -> None:
    state = cluster(
        "of min max\na 2 2\nb 9 -",
        "name has\nn1 1\nn2 1\nn3 2",
        "name of asks on priority\na1 a 1 n1 0\na2 a 1 n2 5\na3 a 2 - 5",
    )
    assert told(plan(state)) == ["wait a3: OverMax"]


def test_a_gang_leaves_out_the_node_of_the_most_important() -> None:
    """A's gang of 3 x 2 needs three of four nodes: the three whose top priority is at most 4."""
    assert evicted(
        "of min\na 6\nb 2",
        "name has\nn1 2\nn2 2\nn3 2\nn4 2",
        """
        name of asks needs on priority
        b1   b  1    1     n1 4
        b2   b  1    1     n1 0
        b3   b  2    1     n2 9
        b4   b  2    1     n3 3
        b5   b  2    1     n4 1
        g    a  3x2  3     -  0
        """,
    ) == ["b1", "b4", "b5", "b2"]


def least_disruptive(rows: str, budgets: str = "") -> list[str]:
    """B borrows 6 of c's 9 on three nodes of 2; a's gang of two pods of 2 takes back two nodes."""
    return evicted(
        "of min\na 4\nb 0\nc 9",
        "name has\nn1 2\nn2 2\nn3 2",
        f"name of asks needs on priority since app\n{rows}\ng a 2x2 2 - 0 - -",
        budgets,
    )


def test_first_the_fewest_budgets_are_violated() -> None:
    """B1 is covered by a budget that allows nobody, so b2 and b3 go, though they matter more."""
    rows = "b1 b 2 1 n1 0 1 x\nb2 b 2 1 n2 5 1 -\nb3 b 2 1 n3 5 1 -"
    assert least_disruptive(rows, "of app allowed\nb x 0") == ["b2", "b3"]
    assert least_disruptive(rows, "of app allowed\nb x 1") == ["b2", "b1"]


def test_then_the_highest_priority_is_the_lowest() -> None:
    """N1 and n2: top 2, three victims. With n3 it would be two victims, and top 3."""
    rows = "b1 b 1 1 n1 2 1 -\nb2 b 1 1 n1 2 1 -\nb3 b 2 1 n2 2 1 -\nb4 b 2 1 n3 3 1 -"
    assert least_disruptive(rows) == ["b1", "b2", "b3"]


def test_then_the_fewest_leave() -> None:
    """All have priority 2. N1 and n3: one each; n2 has two, and more in sum: 2 x (2 + 2^31)."""
    rows = "b1 b 2 1 n1 2 1 -\nb2 b 1 1 n2 2 1 -\nb3 b 1 1 n2 2 1 -\nb4 b 2 1 n3 2 1 -"
    assert least_disruptive(rows) == ["b1", "b4"]


def test_then_the_sum_of_priorities_is_the_smallest() -> None:
    """One has priority 2 in any case; the other is 0 or 1."""
    rows = "b1 b 2 1 n1 2 1 -\nb2 b 2 1 n2 1 1 -\nb3 b 2 1 n3 0 1 -"
    assert least_disruptive(rows) == ["b2", "b3"]
    top = "b1 b 1 1 n1 2 1 -\nb2 b 1 1 n1 0 1 -\nb3 b 1 1 n2 2 1 -\nb4 b 1 1 n2 1 1 -"
    assert least_disruptive(f"{top}\nb5 b 2 1 n3 2 1 -") == [
        "b1",
        "b5",
        "b2",
    ]  # 0 + 2 + 2 < 1 + 2 + 2


def test_then_the_least_work_is_lost() -> None:
    """All hold 2 of 6. B2 runs for 99 s, b1 for 50 s and b3 for 10 s: 50 + 10 is the least."""
    rows = "b1 b 2 1 n1 0 50000 -\nb2 b 2 1 n2 0 1000 -\nb3 b 2 1 n3 0 90000 -"
    assert sorted(least_disruptive(rows)) == ["b1", "b3"]


def small_loan(settings: ElasticQuotaSettings) -> list[str]:
    """B has 3 and uses 4: a pod of 1 on each of n1 and n2, and one of 2 on n3. A asks for 2.

    The pool of 5 has 1 left. Once b gives 1 back, b is not over its min any more.
    """
    state = cluster(
        "of min\na 2\nb 3",
        "name has\nn1 1\nn2 1\nn3 2",
        "name of asks on priority\nb1 b 1 n1 0\nb2 b 1 n2 0\nb3 b 2 n3 -1\na1 a 2 - 0",
    )
    return told(plan(state, settings))


def test_a_min_is_protected_only_if_that_is_asked_for() -> None:
    """Only n3 can hold the pod of 2, and b without b3 has 2 of its 3."""
    assert small_loan(OURS) == [
        "evict b3 0 for a1: TakenBelowMin",
        "reserve n3 for a1 until b3 left",
    ]
    assert small_loan(PROTECTED) == ["wait a1: PoolExhausted"]


def protected_pieces(settings: ElasticQuotaSettings) -> list[str]:
    """B has 2 and uses 4 in pods of 1 on n1, n2, n3 and n4; a has 2, and n5 is free."""
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 1\nn2 1\nn3 1\nn4 1\nn5 2",
        "name of asks on\nb1 b 1 n1\nb2 b 1 n2\nb3 b 1 n3\nb4 b 1 n4\na1 a 2 -",
    )
    return told(plan(state, settings))


@pytest.mark.parametrize("settings", [OURS, PROTECTED], ids=["ours", "protected"])
def test_what_is_over_a_min_comes_back_from_several_nodes(settings: ElasticQuotaSettings) -> None:
    assert protected_pieces(settings) == [
        "evict b3 0 for a1: MinTakenBack",
        "evict b4 0 for a1: MinTakenBack",
        "reserve n5 for a1 until b3 b4 left",
    ]


def test_a_protected_namespace_gives_a_larger_pod_rather_than_none() -> None:
    """B is 3 over its 2. Its least important pod, of 2, is not enough; the one of 3 alone is.

    The gang needs 3 of b's on n2, and 1 that is free on n3.
    """
    state = cluster(
        "of min\na 4\nb 2",
        "name has\nn1 2\nn2 3\nn3 1",
        "name of asks needs on priority\nb1 b 2 1 n1 0\nb2 b 3 1 n2 1\ng a 1x3+1x1 2 - 0",
    )
    assert told(plan(state, PROTECTED)) == [
        "evict b2 0 for g: MinTakenBack",
        "reserve n2 n3 for g until b2 left",
    ]


def crowd(count: int, asked: int) -> list[str]:
    """B runs *count* pods of 1, pod i on node i with priority i; a asks for one pod of *asked*.

    It has room on n-free, so only the pool of *count* is in its way: all of it is used.
    """
    rows = "\n".join(f"b{number:02} b 1 n{number:02} {number}" for number in range(count))
    nodes = "\n".join(f"n{number:02} 1" for number in range(count))
    state = cluster(
        f"of min\na {asked}\nb {count - asked}",
        f"name has\n{nodes}\nn-free {asked}",
        f"name of asks on priority\n{rows}\na1 a {asked} - 0",
    )
    return sorted(each.workload for each in plan(state).decisions if isinstance(each, Evict))


@pytest.mark.parametrize(
    "count", [EXHAUSTIVE_LIMIT - 1, EXHAUSTIVE_LIMIT, EXHAUSTIVE_LIMIT + 1, 3 * EXHAUSTIVE_LIMIT]
)
def test_beyond_the_exact_search_the_least_important_still_go(count: int) -> None:
    assert crowd(count, 4) == ["b00", "b01", "b02", "b03"]


def test_beyond_the_exact_search_nobody_leaves_in_vain() -> None:
    """The pods of 1 with priority 0 are asked first and are too few for the pool: 14 of 16.

    With the pod of 8, priority 1, there are 22; then 6 of the others can stay.
    """
    rows = "\n".join(f"b{number:02} b 1 n{number:02} 0" for number in range(14))
    nodes = "\n".join(f"n{number:02} 1" for number in range(14))
    state = cluster(
        "of min\na 16\nb 6",
        f"name has\n{nodes}\nlarge 8\nn-free 16",
        f"name of asks on priority\n{rows}\nb-large b 8 large 1\na1 a 16 - 0",
    )
    planned = plan(state)
    names = [each.workload for each in planned.decisions if isinstance(each, Evict)]
    assert names[0] == "b-large"
    assert len(names) == 1 + 8  # 8 + 8 x 1 = 16


def in_the_way(count: int, places: int, asks: str) -> list[str]:
    """Each of *places* large nodes of 3 has a pod of 2, priority 1; *count* nodes one of 1 each.

    All are a's, which is over its min by what b asks for: 3 for each large node.
    """
    large = [f"large{number}" for number in range(places)]
    small = [f"x{number:02}" for number in range(count)]
    rows = [f"y{at} a 2 1 {node} 1" for at, node in enumerate(large)]
    rows += [f"{name} a 1 1 n{name} 0" for name in small]
    nodes = [f"{node} 3" for node in large] + [f"n{name} 1" for name in small]
    state = cluster(
        f"of min\na {count + 2 * places - 3 * places}\nb {3 * places}",
        "\n".join(["name has", *nodes]),
        "\n".join(["name of asks needs on priority", *rows, f"b1 b {asks} {places} - 0"]),
    )
    return told(plan(state))


@pytest.mark.parametrize("count", [8, 20])
def test_who_is_in_the_way_leaves_before_less_important_ones_elsewhere(count: int) -> None:
    """A gives 3. If all came from its least important pods, there would still be no room."""
    last = f"x{count - 1:02}"
    assert in_the_way(count, 1, "3") == [
        "evict y0 0 for b1: MinTakenBack",
        f"evict {last} 0 for b1: MinTakenBack",
        f"reserve large0 for b1 until {last} y0 left",
    ]


@pytest.mark.parametrize("count", [8, 20])
def test_who_is_in_the_way_of_a_gang_leaves_first(count: int) -> None:
    """The same with two large nodes: a gives 6, of which 2 x 2 are in the way."""
    one, two = f"x{count - 2:02}", f"x{count - 1:02}"
    assert in_the_way(count, 2, "2x3") == [
        "evict y0 0 for b1: MinTakenBack",
        "evict y1 0 for b1: MinTakenBack",
        f"evict {one} 0 for b1: MinTakenBack",
        f"evict {two} 0 for b1: MinTakenBack",
        f"reserve large0 large1 for b1 until {one} {two} y0 y1 left",
    ]


def test_who_must_stay_near_is_not_asked_to_leave() -> None:
    """N1 is full. New must be on the node of db, so only old can leave: without both, none fits."""
    state = cluster(
        "of min\na 0\nb 2",
        "name has\nn1 2\nn2 0",
        "name of asks on app\ndb a 1 n1 db\nold a 1 n1 -\nnew b 1 - -",
    )
    requirement = LabelRequirement(key="app", operator="In", values=("db",))
    selector = LabelSelector(requirements=(requirement,))
    near = PodTerm(topology_key=HOST, selector=selector, namespaces=("a",))
    pod_set = state.workloads[WorkloadName("new")].pod_sets[0]
    constrained = replace(pod_set, constraints=PodConstraints(pod_affinity=(near,)))
    with_workload(state, "new", pod_sets=PodSets((constrained,)))
    assert told(plan(state)) == [
        "evict old 0 for new: MinTakenBack",
        "reserve n1 for new until old left",
    ]


def test_a_victim_that_comes_back_does_not_push_the_one_aside_that_took_its_own() -> None:
    """Only n2 holds a pod of 2. B uses 3 of 2, so b2 leaves for p, who has 2 and uses none.

    B2 is more important than p and b1; with b1 gone it would be within the pool again, and have p's
    place. Then b1 would borrow anew, and p take n2 back, round and round.
    """
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 1\nn2 2\nn3 1",
        "name of asks on priority\nb1 b 1 n1 0\nb2 b 2 n2 1\np a 2 - 0",
    )
    assert list(cycles(state)) == [
        ["evict b2 0 for p: TakenBelowMin", "reserve n2 for p until b2 left"],
        ["wait b2: PoolExhausted", "start p on n2: WithinMin"],
        ["wait b2: PoolExhausted"],
    ]
