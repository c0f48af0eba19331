"""What was cleared for a pod is kept for it, so that nobody has to be cleared away twice."""

import pytest

from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import forget_promises
from fairlead.model.plan import Plan, Start
from fairlead.policy.elastic_quota.settings import FAITHFUL
from tests.policy.elastic_quota.plan_world import NOW_MS, cluster, nominated, plan, told


def test_a_node_is_kept_from_more_important_pods_of_other_namespaces() -> None:
    """All are within their mins. P waits for n1, which is free by now; q outranks it."""
    tables = (
        "of min\na 2\nb 2",
        "name has\nn1 2",
        "name of asks priority nominated\nq b 2 9 -\np a 2 0 n1",
    )
    assert told(plan(cluster(*tables))) == ["wait q: NoNodeFits", "start p on n1: WithinMin"]
    assert told(plan(cluster(*tables), FAITHFUL)) == [
        "start q on n1: WithinMin",
        "wait p: NoNodeFits",
    ]


def test_in_one_namespace_the_more_important_pod_takes_the_node() -> None:
    state = cluster(
        "of min\na 4",
        "name has\nn1 2",
        "name of asks priority nominated\nq a 2 9 -\np a 2 0 n1",
    )
    assert told(plan(state)) == ["start q on n1: WithinMin", "wait p: NoNodeFits"]


def test_of_two_that_wait_for_a_node_too_small_for_both_the_more_important_starts() -> None:
    state = cluster(
        "of min\na 2\nb 2",
        "name has\nn1 2",
        "name of asks priority nominated\nq b 2 9 n1\np a 2 0 n1",
    )
    assert told(plan(state)) == ["start q on n1: WithinMin", "wait p: NoNodeFits"]


def test_who_waits_for_one_node_does_not_take_another_that_was_cleared() -> None:
    """Q outranks p and waits for n1, which x1 has not left yet; n2 is free, and p's."""
    state = cluster(
        "of min\na 2\nb 2\nx 9",
        "name has\nn1 2\nn2 2",
        """
        name of asks priority nominated on
        x1   x  2    0        -         n1!
        p    a  2    0        n2        -
        q    b  2    5        n1        -
        """,
    )
    assert told(plan(state)) == [
        "reserve n1 for q until x1 left",
        "start p on n2: WithinMin",
    ]


def test_borrowing_one_thing_does_not_cost_the_right_to_another() -> None:
    """A has 1 fpga too much, but 2 of its min of 4 GPUs are due; b would borrow the last 2 of 4."""
    tables = (
        "of min\na 4,0\nb 0,1",
        "name has\nn1 4,1\nn2 2,0",
        """
        name of asks priority nominated on
        a1   a  2,1  0        -         n1
        p    a  2,0  0        n1        -
        q    b  2,0  9        -         -
        """,
        "",
        "gpu,fpga",
    )
    assert told(plan(cluster(*tables))) == ["wait q: PoolExhausted", "start p on n1: WithinMin"]
    assert told(plan(cluster(*tables), FAITHFUL))[0] == "start q on n1: Borrows"


def test_who_borrows_leaves_enough_for_who_makes_room_in_its_own_namespace() -> None:
    """Of a pool of 4, a1 (1, leaving for p) and b1 (2) have 3; p asks for 2 and q for the last."""
    tables = (
        "of min\na 0\nb 4\nc 0",
        "name has\nn1 2\nn2 4",
        """
        name of asks priority nominated on
        b1   b  2    0        -         n2
        a1   a  1    0        -         n1!
        p    a  2    5        n1        -
        q    c  1    0        -         -
        """,
    )
    assert told(plan(cluster(*tables))) == [
        "reserve n1 for p until a1 left",
        "wait q: PoolExhausted",
    ]
    assert told(plan(cluster(*tables), FAITHFUL))[1] == "start q on n2: Borrows"


def test_only_who_has_of_what_is_borrowed_gives_way() -> None:
    """B borrows one fpga, with b1; b2 has none, and is within b's min of GPUs."""
    tables = (
        "of min\na 2,1\nb 2,0",
        "name has\nn1 2,1\nn2 2,0",
        """
        name of asks priority on
        b2   b  2,0  0        n2
        b1   b  0,1  9        n1
        x    a  2,0  0        n1
        p    a  0,1  0        -
        """,
        "",
        "gpu,fpga",
    )
    assert told(plan(cluster(*tables))) == [
        "evict b1 0 for p: MinTakenBack",
        "reserve n1 for p until b1 left",
    ]


def test_nobody_starts_beside_a_pod_to_come_that_must_be_apart() -> None:
    """Of n1's 5, a1 leaves 3 for p, and q asks for 1; but p is to be apart from web."""
    tables = (
        "of min\na 9",
        "name has\nn1 5",
        """
        name of asks priority nominated app apart on
        a1   a  3    0        -         -   -     n1!
        p    a  3    5        n1        -   {apart} -
        q    a  1    0        -         web -     -
        """,
    )
    promised = "reserve n1 for p until a1 left"
    for apart, q in (("-", "reserve n1 for q until a1 left"), ("web", "wait q: NoNodeFits")):
        state = cluster(*[table.format(apart=apart) for table in tables])
        assert told(plan(state)) == [promised, q]


def test_who_starts_in_part_keeps_no_promise_for_the_rest() -> None:
    """Of three pods of 1 that wait for n1, which has 2, one finds no room any more, and waits.

    Its start alone tells that, too, to who hears of no waits.
    """
    state = cluster("of min\na 9", "name has\nn1 2", "name of asks nominated\np a 3x1 n1,n1,n1")
    planned = plan(state)
    assert told(planned) == [
        "start p on n1: WithinMin",
        "start p on n1: WithinMin",
        "wait p: NoNodeFits",
    ]
    starts = tuple([each for each in planned.decisions if isinstance(each, Start)])
    apply(state, Plan(taken_ms=NOW_MS, decisions=starts))
    assert nominated(state, "p") == ["n1"]
    forget_promises(state, starts, NOW_MS)
    assert nominated(state, "p") == []


@pytest.mark.parametrize(
    ("priority", "decisions"),
    [
        # As important, and older: one pod of g waits for n1 before p does, the other does not.
        (1, ["wait g: PoolExhausted", "evict v 0 for p: MinTakenBack", "reserve n1 for p"]),
        # More important: p may wait there no more.
        (2, ["evict v 0 for g: MinTakenBack", "reserve n1 n1 for g", "wait p: PoolExhausted"]),
    ],
)
def test_a_gang_takes_no_pod_along_that_would_break_a_promise(
    priority: int, decisions: list[str]
) -> None:
    """Once v has left, 2 stay held; with p and both pods of g it would be 2 + 3 + 1 + 1 > 6."""
    state = cluster(
        "of min\na 3\nb 6\nc 0",
        "name has\nn1 6",
        f"""
        name of asks needs on nominated priority
        s    b  2    1     n1 -         5
        v    c  3    1     n1 -         0
        p    b  3    1     -  n1        1
        g    a  2x1  2     -  n1,-      {priority}
        """,
    )
    assert [line.removesuffix(" until v left") for line in told(plan(state))] == decisions
