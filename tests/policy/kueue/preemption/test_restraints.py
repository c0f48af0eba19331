"""Options of ours that hold claims back, in whole plans."""

from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.plan_world import FAIR, cluster, cycles, plan, told

POOL = """
name  parent quota within reclaim       borrowWithin
POOL  -      6     -      -             -
early POOL   0     Never  Any           -
late  POOL   0     Never  LowerPriority LowerPriority
"""


def test_a_clock_that_is_behind_holds_nobody_back_without_a_delay() -> None:
    """The claim was made 5 seconds after *now*, by the clock of another machine."""
    state = cluster(
        POOL.replace("LowerPriority LowerPriority", "Any -"),
        """
        name queue asks priority created running
        a    early 3    0        0       0
        b    early 3    0        0       0
        c    late  3    0        15000   -
        """,
    )
    assert told(plan(state, FAIR, now_ms=10_000)) == [
        "evict a for c: InCohortFairSharing",
        "reserve c until a left",
    ]


def test_who_overrules_the_shares_does_not_lose_by_them_what_it_got() -> None:
    """Early holds 2 and late 4; urgent makes it 0 to 6, by its priority alone.

    By the shares small would take its 2 back from urgent, who would overrule them again, without
    end. It may not ask urgent, to whom it gave way; so it asks large, who may not ask it in turn.
    """
    options = KueueOptions(priority_override=True, preemption_cooldown_ms=0)
    override = KueueSettings(fair_sharing=True, options=options)
    state = cluster(
        POOL,
        """
        name   queue asks priority created running
        small  early 2    0        0       0
        large  late  4    9        0       0
        urgent late  2    9        1       -
        """,
    )
    plans = list(cycles(state, override))
    evictions = [line for told_ in plans for line in told_ if line.startswith("evict")]
    assert evictions == [
        "evict small for urgent: InCohortReclaimWhileBorrowing",
        "evict large for small: InCohortFairSharing",
    ]
    assert plans[-1] == ["wait large: WaitingForQuota"]
