"""Who gives way to whom in a whole plan, with fair sharing and without."""

import pytest

from fairlead.model.plan import Evict
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings, Strategy
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    cluster,
    cycles,
    decided,
    held,
    plan,
    told,
)
from tests.policy.kueue.told_reason import told as told_reason

FINAL: Strategy = "LessThanOrEqualToFinalShare"
INITIAL: Strategy = "LessThanInitialShare"


def one_queue(within: str, low: int, preemptor: int, created: int) -> list[str]:
    """Low came at 5 and has the only place; who comes now asks for it."""
    state = cluster(
        f"name parent quota within\nq - 1 {within}",
        f"""
        name queue asks priority  created   running
        low  q     1    {low}      5         5
        new  q     1    {preemptor} {created} -
        """,
    )
    return told(plan(state))


STAYS = ["wait new: WaitingForQuota"]
LEAVES = ["evict low for new: InClusterQueue", "reserve new until low left"]


@pytest.mark.parametrize(
    ("within", "low", "preemptor", "created", "outcome"),
    [
        ("Never", 0, 9, 1, STAYS),
        ("LowerPriority", 0, 9, 9, LEAVES),
        ("LowerPriority", 4, 4, 1, STAYS),
        ("LowerPriority", 4, 3, 1, STAYS),
        ("LowerOrNewerEqualPriority", 0, 9, 9, LEAVES),
        ("LowerOrNewerEqualPriority", 4, 4, 4, LEAVES),
        ("LowerOrNewerEqualPriority", 4, 4, 5, STAYS),
        ("LowerOrNewerEqualPriority", 4, 3, 4, STAYS),
    ],
)
def test_within_a_queue_importance_and_age_decide(
    within: str, low: int, preemptor: int, created: int, outcome: list[str]
) -> None:
    assert one_queue(within, low, preemptor, created) == outcome


def lent(reclaim: str, borrower: int, asks: int = 2) -> list[str]:
    """A has 2 and b 2; b runs four jobs of 1, so that it has a's 2. Now a's own job comes."""
    jobs = "\n".join(f"b{number} b 1 {borrower} {number}" for number in range(1, 5))
    state = cluster(
        f"""
        name parent quota reclaim
        POOL -      0     -
        a    POOL   2     {reclaim}
        b    POOL   2     -
        """,
        f"name queue asks priority running\na1 a {asks} 5 -\n{jobs}",
    )
    return told(plan(state))


TAKEN_BACK = [
    "evict b4 for a1: InCohortReclamation",
    "evict b3 for a1: InCohortReclamation",
    "reserve a1 until b3 b4 left",
]
NOT_TAKEN = ["wait a1: WaitingForQuota"]


@pytest.mark.parametrize(
    ("reclaim", "borrower", "outcome"),
    [
        ("Never", 0, NOT_TAKEN),
        ("LowerPriority", 4, TAKEN_BACK),
        ("LowerPriority", 5, NOT_TAKEN),
        ("Any", 9, TAKEN_BACK),
    ],
)
def test_what_was_lent_goes_back_as_the_owner_says_and_the_newest_go_first(
    reclaim: str, borrower: int, outcome: list[str]
) -> None:
    assert sorted(lent(reclaim, borrower)) == sorted(outcome)


def test_no_more_goes_back_than_is_needed() -> None:
    """A asks for 1 of its 2: one job of b leaves."""
    assert lent("Any", 0, asks=1) == [
        "evict b4 for a1: InCohortReclamation",
        "reserve a1 until b4 left",
    ]


def test_who_does_not_borrow_gives_nothing_back() -> None:
    """B has 2 of its own 2; a has used its 2 itself and asks for more in vain."""
    for settings in (CLASSICAL, FAIR):
        state = cluster(
            """
            name parent quota reclaim
            POOL -      0     -
            a    POOL   2     Any
            b    POOL   2     -
            """,
            """
            name queue asks priority running
            b1   b     2    0        1
            a1   a     2    0        1
            a2   a     1    9        -
            """,
        )
        assert told(plan(state, settings)) == ["wait a2: WaitingForQuota"]


def while_borrowing(borrow_within: str, borrower: int) -> list[str]:
    """4 in all: a 1, b 2, anybody's 1. B runs four of 1; a asks for 2, so 1 would be borrowed."""
    jobs = "\n".join(f"b{number} b 1 {borrower} {number}" for number in range(1, 5))
    state = cluster(
        f"""
        name parent quota reclaim       borrowWithin
        POOL -      1     -             -
        a    POOL   1     LowerPriority {borrow_within}
        b    POOL   2     -             -
        """,
        f"name queue asks priority running\na1 a 2 9 -\n{jobs}",
    )
    return sorted(told(plan(state)))


@pytest.mark.parametrize(
    ("borrow_within", "borrower", "gives_way"),
    [
        ("Never", 0, False),
        ("LowerPriority", 8, True),
        ("LowerPriority", 9, False),
        ("LowerPriority<=5", 5, True),
        ("LowerPriority<=5", 6, False),
    ],
)
def test_who_would_borrow_may_ask_the_less_important_up_to_a_threshold(
    borrow_within: str, borrower: int, gives_way: bool
) -> None:
    expected = [
        "evict b3 for a1: InCohortReclaimWhileBorrowing",
        "evict b4 for a1: InCohortReclaimWhileBorrowing",
        "reserve a1 until b3 b4 left",
    ]
    outcome = expected if gives_way else ["wait a1: WaitingForQuota"]
    assert while_borrowing(borrow_within, borrower) == outcome


HIERARCHY = """
name parent quota borrow lend weight reclaim
ROOT -      0     -      -    -      -
A    ROOT   2     4      3    2      -
a1   A      5     -      3    -      -
a2   A      1     -      -    -      -
b    ROOT   8     -      -    -      Any
"""


def in_hierarchy(asks: int, settings: KueueSettings) -> list[str]:
    """A1 retains 5 - 3 = 2, so A has 2 + 3 + 1 = 6 and retains 3; the root has 3 + 8 = 11.

    A1 has 6 and a2 has 3, so A has (6 - 2) + 3 = 7 and the root (7 - 3) + 2 = 6 of 11.
    """
    state = cluster(
        HIERARCHY,
        f"""
        name queue asks running
        x    a1    4    1
        y    a1    2    6
        z    a2    3    3
        u    b     2    1
        w    b     {asks} -
        """,
    )
    return told(plan(state, settings))


def test_fair_sharing_takes_from_whom_borrows_most_for_its_weight() -> None:
    """5 are free and 6 are asked for, 8 in all, b's own. Of a1 (1/10) and a2 (2/10) a2 loses."""
    assert in_hierarchy(6, FAIR) == [
        "evict z for w: InCohortReclamation",
        "reserve w until z left",
    ]


def test_without_fair_sharing_the_newest_loses() -> None:
    assert in_hierarchy(6, CLASSICAL) == [
        "evict y for w: InCohortReclamation",
        "reserve w until y left",
    ]


def test_who_would_borrow_more_than_the_other_side_is_left_with_gets_nothing() -> None:
    """With 7, b would borrow 1 of 11: 90.9. A without z has 0, and with it 45.5."""
    assert in_hierarchy(7, FAIR) == ["wait w: WaitingForQuota"]


def test_room_that_is_free_is_taken_without_asking_anybody() -> None:
    assert in_hierarchy(5, FAIR) == ["start w"]


def with_strategies(*strategies: Strategy) -> KueueSettings:
    return KueueSettings(fair_sharing=True, strategies=strategies)


@pytest.mark.parametrize(
    ("strategies", "gives_way"),
    [((FINAL,), False), ((INITIAL,), True), (BOTH_STRATEGIES, True)],
    ids=["final", "initial", "both"],
)
def test_a_large_borrower_gives_way_if_the_initial_share_counts(
    strategies: tuple[Strategy, ...], gives_way: bool
) -> None:
    """Y has 6 of 10 by one job, x wants 5: 500 < 600 at first, but 500 > 0 in the end."""
    state = cluster(
        """
        name parent quota reclaim
        POOL -      10    -
        x    POOL   0     Any
        y    POOL   0     Any
        """,
        "name queue asks running\ny1 y 6 1\nx1 x 5 -",
    )
    given_up = ["evict y1 for x1: InCohortFairSharing", "reserve x1 until y1 left"]
    outcome = given_up if gives_way else ["wait x1: WaitingForQuota"]
    assert told(plan(state, with_strategies(*strategies))) == outcome


@pytest.mark.parametrize(
    ("strategies", "gives_way"),
    [((FINAL,), True), ((INITIAL,), False), (BOTH_STRATEGIES, True)],
    ids=["final", "initial", "both"],
)
def test_whose_share_does_not_fall_gives_way_if_the_final_share_counts(
    strategies: tuple[Strategy, ...], gives_way: bool
) -> None:
    """10 cpu and 10 gpu. Y has 5 cpu and, by y2, 5 gpu: without y2 it still has 500. So has z.

    X wants 5 gpu, which is 500 too: 500 <= 500, but not 500 < 500.
    """
    state = cluster(
        """
        name parent quota reclaim
        POOL -      10,10 -
        x    POOL   0,0   Any
        y    POOL   0,0   Any
        z    POOL   0,0   Any
        """,
        """
        name queue asks running
        y1   y     5,0  1
        y2   y     0,5  2
        z1   z     0,5  1
        x1   x     0,5  -
        """,
        "cpu,gpu:any",
    )
    given_up = ["evict y2 for x1: InCohortFairSharing", "reserve x1 until y2 left"]
    outcome = given_up if gives_way else ["wait x1: WaitingForQuota"]
    assert told(plan(state, with_strategies(*strategies))) == outcome


def test_who_gives_way_by_shares_is_told_them() -> None:
    """X wants 1 of 10 with weight 0.5: 100 / 0.5. Y has all 10 and is left with 9."""
    jobs = "\n".join(f"y{number} y 1 1" for number in range(1, 11))
    state = cluster(
        """
        name parent quota weight reclaim
        POOL -      10    1      -
        x    POOL   0     0.5    Any
        y    POOL   0     1      Any
        """,
        f"name queue asks running\nx1 x 1 -\n{jobs}",
    )
    evicted = decided(plan(state, FAIR), "y1")
    assert isinstance(evicted, Evict)
    assert told_reason(evicted.reason) == [
        "InCohortFairSharing y",
        "later share of x 200 <= later share of y 900 at y",
        "x: 0 -> 200",
        "y: 1000 -> 900",
    ]


@pytest.mark.parametrize(("preemptor", "admitted"), [("1", "0"), ("0", "1"), ("0", "0")])
def test_who_weighs_nothing_gives_way_and_takes_only_from_its_like(
    preemptor: str, admitted: str
) -> None:
    """Y has all 4 by jobs of 1, x wants 1. Who weighs 0 has an infinite share once it borrows.

    Between two of them 1/4 and 3/4 are compared.
    """
    jobs = "\n".join(f"y{number} y 1 {number}" for number in range(1, 5))
    state = cluster(
        f"""
        name parent quota weight     reclaim
        POOL -      4     1          -
        x    POOL   0     {preemptor} Any
        y    POOL   0     {admitted} Any
        """,
        f"name queue asks running\nx1 x 1 -\n{jobs}",
    )
    given_up = ["evict y4 for x1: InCohortFairSharing", "reserve x1 until y4 left"]
    outcome = given_up if admitted == "0" else ["wait x1: WaitingForQuota"]
    assert told(plan(state, FAIR)) == outcome


def test_a_preemption_that_fewer_pods_make_possible_takes_no_more_than_that() -> None:
    """Four pods of 1 or at least two; of the 4 places low has 2, top the others for good."""
    state = cluster(
        "name parent quota within\nq - 4 LowerPriority",
        """
        name queue asks  priority running
        low  q     2     0        1
        top  q     2     9        1
        part q     2-4x1 5        -
        """,
    )
    first, second, *_ = cycles(state, CLASSICAL)
    assert first == ["evict low for part: InClusterQueue", "reserve part until low left"]
    assert second == ["start part", "wait low: WaitingForQuota"]
    assert held(state) == {"q": 4}
