"""Nobody starts and loses its place in the same plan; and what else one plan must not forget."""

from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks
from tests.policy.elastic_quota.plan_world import OURS, cluster, cycles, plan, told

PROTECTED = ElasticQuotaSettings(protect_min=True)
QUIET = 12  # plans, more than any of these worlds needs


def test_who_is_held_back_for_a_gang_that_starts_is_not_spared_for_its_other_pods() -> None:
    """G needs two pods of c's min of 2, and has one of 8 besides, which waits on."""
    state = cluster(
        "of min\nc 2\nx 0\ny 0\nz 1",
        "name has\nn1 9",
        "name of asks priority needs on\nx1 x 1 5 1 n1\ny1 y 1 5 1 -\ng c 2x1+1x8 0 2 -",
    )
    assert told(plan(state)) == [
        "wait y1: WouldBeEvicted",
        "start g on n1 n1: WithinMin",
        "wait g: PoolExhausted",
    ]


def test_who_borrows_is_held_back_for_one_within_its_min() -> None:
    """B has 1 and asks for 2 before a, by priority; there are 2, and 1 of them is a's."""
    state = cluster(
        "of min\na 1\nb 1",
        "name has\nn1 2",
        "name of asks priority\nb1 b 1 10\nb2 b 1 10\na1 a 1 0",
    )
    assert told(plan(state)) == [
        "start b1 on n1: WithinMin",
        "wait b2: WouldBeEvicted",
        "start a1 on n1: WithinMin",
    ]
    in_vain = ElasticQuotaSettings(quirks=PluginQuirks(start_in_vain=True))
    assert told(plan(state, in_vain))[1:3] == [
        "start b2 on n1: Borrows",
        "evict b2 0 for a1: MinTakenBack",
    ]


def test_who_is_held_back_for_nothing_starts_and_is_spared() -> None:
    """A's gang of 3 needs the 2 that p5 would take and the 1 of p4, which only gives beside p5.

    B is over its min of 1 while p5 runs: 2 + 1. Held back, p5 would let nobody start.
    """
    state = cluster(
        "of min\na 6\nb 1\nc 0",
        "name has\nn0 3\nn1 1",
        "name of asks needs on priority created\n"
        "p0 b 2 1 n0 1 3\n"
        "p4 b 1 1 n1 0 0\n"
        "p5 b 2 1 - 2 0\n"
        "p2 a 3x1 3 - 2 1\n"
        "p6 a 1 1 - 2 3",
    )
    told_each = list(cycles(state, most=QUIET))
    assert len(told_each) < QUIET
    assert not any(line.startswith(("start", "evict", "reserve")) for line in told_each[-1])


def test_a_budget_is_used_up_by_the_claims_of_one_plan() -> None:
    """It allows 1 of b1 and b2. The first claim takes one; then c1 goes, though it is at 5."""
    state = cluster(
        "of min\na 3\nb 0\nc 0",
        "name has\nn1 1\nn2 1\nn3 1",
        "name of asks on priority app\n"
        "b1 b 1 n1 0 web\nb2 b 1 n2 0 web\nc1 c 1 n3 5 -\na1 a 1 - 0 -\na2 a 1 - 0 -",
        budgets="of app allowed\nb web 1",
    )
    evicted = [line.split()[1] for line in told(plan(state)) if line.startswith("evict")]
    assert len(evicted) == 2
    assert evicted[1] == "c1"


def test_an_unused_min_of_one_resource_shields_nothing_borrowed_of_another() -> None:
    """B uses 8 GPUs of 4 and 4 cores of its 32: it cannot fall below a min that it is below."""
    state = cluster(
        "of min\na 4,32\nb 4,32",
        "name has\nn1 4,64\nn2 4,64",
        "name of asks on\nb1 b 4,2 n1\nb2 b 4,2 n2\na1 a 4,2 -",
        resources="gpu,cpu",
    )
    for settings in (OURS, PROTECTED):
        assert told(plan(state, settings)) == [
            "evict b1 0 for a1: MinTakenBack",
            "reserve n1 for a1 until b1 left",
        ]
