"""Turns and claims that depend on Kueue's feature gates, or on an option of ours."""

import pytest

from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import (
    FAIR,
    FAITHFUL,
    cluster,
    cycles,
    decided,
    held,
    plan,
    told,
)
from tests.policy.kueue.told_reason import told as told_reason


def gate(name: str, *, on: bool, fair: bool = True, faithful: bool = False) -> KueueSettings:
    return KueueSettings(fair_sharing=fair, feature_gates=((name, on),), faithful=faithful)


PREEMPTOR = (
    """
    name parent quota within        reclaim
    POOL -      0     -             -
    a    POOL   2     LowerPriority Any
    b    POOL   2     Never         Never
    """,
    """
    name queue asks priority running preempting
    low  a     3    0        1       -
    top  a     4    9        -       yes
    b1   b     1    0        -       -
    """,
)


def test_who_borrows_nothing_takes_what_a_preemptor_waits_for() -> None:
    """4 in all: low has 3, and top wants them and the last one; but b1 takes that, b's own."""
    for settings in (FAIR, FAITHFUL):
        planned = plan(cluster(*PREEMPTOR), settings)
        assert told(planned) == ["start b1", "wait top: WaitingForQuota"]


def test_with_the_gate_for_preemptors_they_have_the_first_turn_in_kueue() -> None:
    """Nobody leaves for top: what it once waited for is not there, so it was promised nothing."""
    settings = gate("PrioritizePreemptorWorkloads", on=True, faithful=True)
    planned = plan(cluster(*PREEMPTOR), settings)
    assert told(planned) == [
        "evict low for top: InClusterQueue",
        "reserve top until low left",
        "wait b1: QuotaIsKept",
    ]
    # One is free, but it is promised.
    compared = told_reason(decided(planned, "b1").reason)[1]
    assert compared.startswith("any/gpu: request 1 > available 0")


def test_where_promises_are_kept_a_later_cycle_of_the_plan_keeps_them_too() -> None:
    """B's second job is looked at after top was promised what low leaves."""
    state = cluster(
        """
        name parent quota within
        POOL -      0     -
        a    POOL   2     LowerPriority
        b    POOL   1     Never
        """,
        """
        name queue asks priority created running
        low  a     2    0        0       1
        top  a     2    9        1       -
        b1   b     1    0        2       -
        b2   b     2    0        3       -
        """,
    )
    assert sorted(told(plan(state, FAIR))) == [
        "evict low for top: InClusterQueue",
        "reserve top until low left",
        "start b1",
        "wait b2: QuotaIsKept",
    ]


@pytest.mark.parametrize(("on", "first"), [(True, "a1"), (False, "b1")])
def test_the_gate_for_non_borrowing_heads_puts_them_before_lower_shares(
    on: bool, first: str
) -> None:
    """One gpu of 10 is left. A has borrowed 5 of 10 cpu (500), but asks for its own gpu.

    B would borrow 1 of 10 gpu (100).
    """
    state = cluster(
        """
        name parent quota
        POOL -      10,9
        a    POOL   0,1
        b    POOL   0,0
        c    POOL   0,0
        """,
        """
        name queue asks running
        a0   a     5,0  1
        c0   c     0,9  1
        a1   a     0,1  -
        b1   b     0,1  -
        """,
        "cpu,gpu:any",
    )
    told_first = told(plan(state, gate("FairSharingPrioritizeNonBorrowing", on=on)))[0]
    assert told_first == f"start {first}"


@pytest.mark.parametrize("fair", [True, False])
@pytest.mark.parametrize(("on", "first"), [(True, "a1"), (False, "b1")])
def test_the_gate_for_priorities_puts_importance_before_age(
    fair: bool, on: bool, first: str
) -> None:
    state = cluster(
        """
        name parent quota
        POOL -      1
        a    POOL   0
        b    POOL   0
        """,
        """
        name queue asks priority created
        a1   a     1    9        5
        b1   b     1    0        1
        """,
    )
    settings = gate("PrioritySortingWithinCohort", on=on, fair=fair)
    assert told(plan(state, settings))[0] == f"start {first}"


@pytest.mark.parametrize(
    ("on", "outcome"),
    [
        (True, ["evict y1 for x1: InCohortReclamation", "reserve x1 until y1 left"]),
        (False, ["wait x1: WaitingForQuota"]),
    ],
)
def test_the_gate_for_nominal_quota_takes_it_back_whatever_the_shares(
    on: bool, outcome: list[str]
) -> None:
    """X has one gpu of its own, which y has borrowed: 1 of 4, 250. But x borrows 8 of 10 cpu: 800.

    Z has its own 3.
    """
    state = cluster(
        """
        name parent quota reclaim
        POOL -      10,0  -
        x    POOL   0,1   Any
        y    POOL   0,0   Any
        z    POOL   0,3   Any
        """,
        """
        name queue asks running
        x0   x     8,0  1
        y1   y     0,1  1
        z0   z     0,3  1
        x1   x     0,1  -
        """,
        "cpu,gpu:any",
    )
    assert told(plan(state, gate("FairSharingPreemptWithinNominal", on=on))) == outcome


OVERLAP = (
    """
    name parent quota reclaim
    POOL -      0     -
    a    POOL   2     Any
    b    POOL   2     Any
    c    POOL   0     -
    """,
    """
    name queue asks created running
    c1   c     2    0       1
    c2   c     2    0       2
    a1   a     2    1       -
    b1   b     2    2       -
    """,
)


@pytest.mark.parametrize("fair", [True, False])
def test_two_that_would_take_from_the_same_look_again(fair: bool) -> None:
    """Both would have c2, the newer; b1 comes later and takes c1."""
    settings = KueueSettings(fair_sharing=fair)
    assert told(plan(cluster(*OVERLAP), settings)) == [
        "evict c2 for a1: InCohortReclamation",
        "reserve a1 until c2 left",
        "evict c1 for b1: InCohortReclamation",
        "reserve b1 until c1 left",
    ]


@pytest.mark.parametrize("fair", [True, False])
def test_without_the_gate_for_overlaps_the_second_waits_for_the_next_plan(fair: bool) -> None:
    """As Kueue decides: it does not look at b1 again before c2 has left."""
    overlap = "RecomputeAssignmentUponPreemptionTargetsOverlap"
    settings = gate(overlap, on=False, fair=fair, faithful=True)
    first, second, third, *_ = cycles(cluster(*OVERLAP), settings)
    assert first == [
        "evict c2 for a1: InCohortReclamation",
        "reserve a1 until c2 left",
        "wait b1: WaitingForQuota",
    ]
    assert second[:3] == [
        "start a1",
        "evict c1 for b1: InCohortReclamation",
        "reserve b1 until c1 left",
    ]
    assert third[0] == "start b1"


@pytest.mark.parametrize("fair", [True, False])
def test_where_promises_are_kept_the_second_asks_in_the_next_cycle(fair: bool) -> None:
    """The 2 of c2 are a1's from now on, so b1 finds c1 alone: gate or not, it is asked at once."""
    settings = gate("RecomputeAssignmentUponPreemptionTargetsOverlap", on=False, fair=fair)
    first, second, *_ = cycles(cluster(*OVERLAP), settings)
    assert first == [
        "evict c2 for a1: InCohortReclamation",
        "reserve a1 until c2 left",
        "evict c1 for b1: InCohortReclamation",
        "reserve b1 until c1 left",
    ]
    assert second[:2] == ["start a1", "start b1"]


@pytest.mark.parametrize(
    ("settings", "waits"),
    [(FAIR, "reserve b1 until c1 left"), (FAITHFUL, "wait b1: WaitingForQuota")],
    ids=["own mode", "as Kueue decides"],
)
def test_two_that_share_one_large_victim_both_get_their_places(
    settings: KueueSettings, waits: str
) -> None:
    """C1 has 4: a1 has it leave, and b1, who would fit then, waits for that without a claim."""
    state = cluster(
        OVERLAP[0],
        """
        name queue asks created running
        c1   c     4    0       1
        a1   a     2    1       -
        b1   b     2    2       -
        """,
    )
    first, second, *_ = cycles(state, settings)
    assert first == ["evict c1 for a1: InCohortReclamation", "reserve a1 until c1 left", waits]
    assert second == ["start a1", "start b1", "wait c1: WaitingForQuota"]
    assert held(state) == {"a": 2, "b": 2, "c": 0}
