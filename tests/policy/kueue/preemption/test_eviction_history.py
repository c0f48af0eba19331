"""Who gave way to whom: what is remembered, and whom that keeps from being asked."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import GaveWay
from fairlead.model.plan import FailedClaim, Plan, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.preemption.restraints import EvictionHistory, PreemptionRight, right_of
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.plan_world import (
    cluster,
    cycles,
    finish,
    held,
    memory_of,
    plan,
    told,
    with_memory,
)
from tests.text_table import rows

NO_LOOPS = KueueSettings(fair_sharing=True, options=KueueOptions(no_preemption_loops=True))
OWN = "InClusterQueue"
BACK = "InCohortReclamation"
FAIR_SHARING = "InCohortFairSharing"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


def order(table: str) -> EvictionHistory:
    """Return the order after each line: who lost, to whom, by which right."""
    found = EvictionHistory({}, {})
    for row in rows(f"loser winner right\n{table.strip()}"):
        given = _given(row)
        found.record(WorkloadName(row["loser"]), given.beneficiary, right_of(given))
    return found


def _given(row: dict[str, str]) -> GaveWay:
    is_own = row["right"] == BACK
    return GaveWay(WorkloadName(row["winner"]), row["right"], by_own_quota=is_own)


def above(found: EvictionHistory, name: str) -> tuple[str, str]:
    """Return whom one must not ask beyond its quota, and within it."""
    beyond, within = (
        found.above(WorkloadName(name), right)
        for right in (PreemptionRight.SHARING, PreemptionRight.OWN_QUOTA)
    )
    return " ".join(sorted(beyond)), " ".join(sorted(within))


def test_nobody_asks_back_directly() -> None:
    assert above(order(f"a b {FAIR_SHARING}"), "a") == ("b", "")
    assert above(order(f"a b {FAIR_SHARING}"), "b") == ("", "")


def test_nobody_asks_back_through_others() -> None:
    found = order(f"""
        a b {FAIR_SHARING}
        b c {WHILE_BORROWING}
        c d {FAIR_SHARING}
    """)
    assert above(found, "a") == ("b c d", "")
    assert above(found, "c") == ("d", "")


@pytest.mark.parametrize(
    ("right", "not_asked_for_its_own"),
    [(OWN, "b"), (BACK, "b"), (FAIR_SHARING, ""), (WHILE_BORROWING, "")],
)
def test_a_claim_to_its_own_is_stopped_only_by_rights_as_strong(
    right: str, not_asked_for_its_own: str
) -> None:
    assert above(order(f"a b {right}"), "a") == ("b", not_asked_for_its_own)


def test_a_chain_is_as_strong_as_its_weakest_part() -> None:
    """A gave way to b by right, and b to c by shares: a may ask c for its own, and not b."""
    found = order(f"""
        a b {BACK}
        b c {FAIR_SHARING}
        c d {BACK}
    """)
    assert above(found, "a") == ("b c d", "b")


def test_of_two_rights_the_stronger_counts_whichever_was_first() -> None:
    once = order(f"a b {FAIR_SHARING}\na b {BACK}")
    other = order(f"a b {BACK}\na b {FAIR_SHARING}")
    assert above(once, "a") == above(other, "a") == ("b", "b")


def test_those_who_gave_way_to_each_other_are_followed_once() -> None:
    found = order(f"a b {FAIR_SHARING}\nb a {BACK}")
    assert above(found, "a") == ("a b", "")
    assert above(found, "b") == ("a b", "a")


TREE = """
name parent quota reclaim
ROOT -      4     -
a    ROOT   0     Any
b    ROOT   0     Any
c    ROOT   0     Any
"""
FULL = """
name queue asks created running
b1   b     2    0       0
b2   b     2    1       1
a1   a     2    2       -
c1   c     4    3       -
"""


def gave_way(state: ClusterState, table: str) -> None:
    """Let workloads remember, line by line: who lost, to whom, by which right."""
    for row in rows(f"loser winner right\n{table.strip()}"):
        known = (*memory_of(state, row["loser"]).gave_way, _given(row))
        with_memory(state, row["loser"], gave_way=tuple(sorted(known)))


def claims(planned: Plan, name: str) -> list[tuple[str, str]]:
    """Return why no workload gives way to one that waits, and whom that is about."""
    (found,) = [each for each in planned.decisions if each.workload == name]
    assert isinstance(found, Wait)
    return [_told_claim(each) for each in found.claims]


def _told_claim(claim: FailedClaim) -> tuple[str, str]:
    return claim.reason.code, " ".join(claim.reason.names)


def evicted(state: ClusterState, settings: KueueSettings = NO_LOOPS) -> list[str]:
    return [line for line in told(plan(state, settings)) if line.startswith("evict")]


def test_without_memory_the_one_with_the_youngest_quota_gives_way() -> None:
    """B holds 4 of 4 that all may borrow. With a1 a holds 2; without b2 so does b."""
    assert evicted(cluster(TREE, FULL)) == [f"evict b2 for a1: {FAIR_SHARING}"]


def test_who_once_took_the_place_is_passed_over_and_the_next_one_is_asked() -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"a1 b2 {FAIR_SHARING}")
    assert evicted(state) == [f"evict b1 for a1: {FAIR_SHARING}"]


def test_who_gave_way_to_all_of_them_waits_and_is_told_so() -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"a1 b1 {FAIR_SHARING}\na1 b2 {FAIR_SHARING}")
    planned = plan(state, NO_LOOPS)
    assert claims(planned, "a1") == [("WouldLoop", "b2")]
    assert held(state) == {"a": 0, "b": 4, "c": 0}


def test_who_gave_way_through_another_queue_waits_and_is_told_so() -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"a1 c1 {FAIR_SHARING}\nc1 b1 {FAIR_SHARING}\nc1 b2 {FAIR_SHARING}")
    assert claims(plan(state, NO_LOOPS), "a1") == [("WouldLoop", "b2")]


@pytest.mark.parametrize("faithful", [True, False])
def test_without_the_option_what_is_remembered_does_not_count(faithful: bool) -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"a1 b1 {FAIR_SHARING}\na1 b2 {FAIR_SHARING}")
    settings = KueueSettings(fair_sharing=True, faithful=faithful)
    assert evicted(state, settings) == [f"evict b2 for a1: {FAIR_SHARING}"]


def test_a_finished_workload_is_forgotten_and_so_is_what_led_through_it() -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"a1 c1 {FAIR_SHARING}\nc1 b1 {FAIR_SHARING}\nc1 b2 {FAIR_SHARING}")
    finish(state, "c1")
    assert evicted(state) == [f"evict b2 for a1: {FAIR_SHARING}"]


def test_who_is_evicted_again_remembers_only_those_who_are_still_there() -> None:
    state = cluster(TREE, FULL)
    gave_way(state, f"b2 c1 {FAIR_SHARING}")
    finish(state, "c1")
    list(cycles(state, NO_LOOPS))
    assert memory_of(state, "b2").gave_way == (
        GaveWay(WorkloadName("a1"), FAIR_SHARING, created_ms=2),
    )


OWNERS = """
name parent quota reclaim
ROOT -      0     -
a    ROOT   2     Any
b    ROOT   0     Any
"""
BORROWED = """
name queue asks created running
b1   b     2    0       0
a1   a     2    1       -
"""


def test_its_own_quota_is_taken_back_though_it_once_lost_what_it_had_borrowed() -> None:
    """A1 asks for 2 of a's 2, all of which b1 has borrowed: 0 + 2 <= 2."""
    state = cluster(OWNERS, BORROWED)
    gave_way(state, f"a1 b1 {FAIR_SHARING}")
    assert evicted(state) == [f"evict b1 for a1: {BACK}"]


def test_its_own_quota_is_not_taken_back_from_one_who_took_back_its_own() -> None:
    state = cluster(OWNERS, BORROWED)
    gave_way(state, f"a1 b1 {BACK}")
    assert claims(plan(state, NO_LOOPS), "a1") == [("WouldLoop", "b1")]
    assert told(plan(state, NO_LOOPS)) == ["wait a1: WaitingForQuota"]


def test_importance_in_the_own_queue_is_not_stopped_by_memory() -> None:
    tree = OWNERS.replace("reclaim", "within").replace("Any", "LowerPriority")
    state = cluster(
        tree,
        """
        name queue asks priority running
        a1   a     2    0        0
        a2   a     2    1        -
        """,
    )
    gave_way(state, f"a2 a1 {BACK}")
    assert evicted(state) == [f"evict a1 for a2: {OWN}"]
