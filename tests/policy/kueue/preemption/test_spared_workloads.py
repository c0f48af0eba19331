"""Who started or was promised something is spared, and no other workload pays for that."""

from msgspec.structs import replace

from tests.policy.kueue.cycle.test_promises import carry_out, leave
from tests.policy.kueue.plan_world import FAIR, add, cluster


def test_nobody_within_quota_leaves_in_the_place_of_one_who_has_just_started() -> None:
    """X and b own 2 each. K borrows 1, which b1 takes back: from k, and in the next plan."""
    state = cluster(
        """
        name parent quota reclaim
        ROOT -      0     -
        x    ROOT   2     -
        b    ROOT   2     Any
        """,
        """
        name queue asks created running
        h    x     2    0       0
        k    x     1    1       -
        b0   b     1    2       -
        b1   b     1    3       -
        """,
    )
    unfair = replace(FAIR, fair_sharing=False)
    assert carry_out(state, unfair)[:2] == ["start b0", "start k"]
    assert carry_out(state, unfair)[0] == "evict k for b1: InCohortReclamation"


def test_nobody_within_quota_leaves_for_what_is_promised_in_its_queue() -> None:
    """P0 of x would borrow 1, for which d0 leaves. B0 asks for what b owns while d0 is there."""
    state = cluster(
        """
        name parent quota reclaim
        ROOT -      0     -
        x    ROOT   2     Any
        b    ROOT   2     Any
        d    ROOT   0     -
        """,
        """
        name queue asks created running
        h    x     2    0       0
        d0   d     2    0       1
        p0   x     1    2       -
        """,
    )
    assert carry_out(state) == ["evict d0 for p0: InCohortFairSharing", "reserve p0 until d0 left"]
    add(state, {"name": "b0", "queue": "b", "asks": "2", "created": "3"})
    assert not [line for line in carry_out(state) if line.startswith("evict")]


def test_nobody_starts_in_the_room_that_another_counts_on() -> None:
    """Of 6, 1 is free. A0 needs it and y0's 3. C0, for whom x0 leaves, and b0 would fit there."""
    state = cluster(
        """
        name parent quota reclaim
        ROOT -      0     -
        a    ROOT   4     Any
        b    ROOT   0     Any
        c    ROOT   1     Any
        d    ROOT   0     Any
        x    ROOT   1     Any
        """,
        """
        name queue asks created running
        x0   x     2    0       1
        y0   d     3    0       0
        a0   a     4    10      -
        """,
    )
    assert carry_out(state) == ["evict y0 for a0: InCohortReclamation", "reserve a0 until y0 left"]
    for name, queue in (("c0", "c"), ("b0", "b")):
        add(state, {"name": name, "queue": queue, "asks": "1", "created": "11"})
        assert not [line for line in carry_out(state) if line.startswith("start")]
    leave(state, "y0")
    assert carry_out(state)[0] == "start a0"


def test_others_do_not_evict_for_a_strict_head_that_may_not_reclaim() -> None:
    """2 of 4 are free, and s0 keeps them. B0 waits; no workload leaves."""
    state = cluster(
        """
        name parent quota reclaim strategy
        ROOT -      0     -       -
        s    ROOT   3     Never   StrictFIFO
        b    ROOT   1     Any     BestEffortFIFO
        c    ROOT   0     -       BestEffortFIFO
        """,
        """
        name queue asks created running
        c0   c     1    0       0
        c1   c     1    0       1
        s0   s     3    1       -
        b0   b     1    2       -
        """,
    )
    assert not [line for line in carry_out(state) if line.startswith("evict")]


def test_a_later_promise_does_not_take_the_room_of_an_earlier_one() -> None:
    """A and b own 2 of 4 each, lent to x. V2 leaves for p2, later v1, which is slow, for p1."""
    state = cluster(
        """
        name parent quota reclaim
        ROOT -      0     -
        a    ROOT   2     Any
        b    ROOT   2     Any
        x    ROOT   0     -
        """,
        """
        name queue asks created running
        v1   x     2    0       0
        v2   x     2    0       1
        p2   b     2    2       -
        """,
    )
    assert carry_out(state) == ["evict v2 for p2: InCohortReclamation", "reserve p2 until v2 left"]
    add(state, {"name": "p1", "queue": "a", "asks": "2", "created": "3"})
    carry_out(state)
    leave(state, "v2")
    assert carry_out(state)[:2] == ["start p2", "reserve p1 until v1 left"]
