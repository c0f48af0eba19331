"""A preempted workload preempts none by fair sharing for a while, and does all else at once.

Late has both places of 3 that are no workload's own, and a of early is due one of them.
"""

import pytest
from msgspec.structs import replace

from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Plan, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.changes import changes_of
from tests.policy.kueue.plan_world import FAIR, add, cluster, finish, plan, told, with_memory

MINUTE_MS = 60_000
PREEMPTED_MS = 100 * MINUTE_MS
POOL = """
name  parent quota within        reclaim
POOL  -      6     -             -
early POOL   0     LowerPriority Any
late  POOL   0     Never         Any
"""
JOBS = """
name queue asks priority created running
a    early 3    1        0       -
b    late  3    0        0       1
c    late  3    0        0       2
"""
TAKES = ["evict c for a: InCohortFairSharing", "reserve a until c left"]
WAITS = ["wait a: WaitingForQuota"]
OWNED = POOL.replace("6     -   ", "3     -   ").replace("early POOL   0", "early POOL   3")


def world(queues: str = POOL, jobs: str = JOBS) -> ClusterState:
    state = cluster(queues, jobs)
    with_memory(state, "a", preempted_ms=PREEMPTED_MS)
    return state


def planned(state: ClusterState, settings: KueueSettings = FAIR, minutes: float = 10) -> Plan:
    """What is planned so many minutes after a gave way."""
    return plan(state, settings, PREEMPTED_MS + round(minutes * MINUTE_MS))


def with_options(**options: int) -> KueueSettings:
    return replace(FAIR, options=replace(KueueOptions(), **options))


@pytest.mark.parametrize(
    ("settings", "minutes", "expected"),
    [
        (FAIR, 0, WAITS),
        (FAIR, 29.999, WAITS),
        (FAIR, 30, TAKES),
        (with_options(preemption_cooldown_ms=10 * MINUTE_MS), 9.999, WAITS),
        (with_options(preemption_cooldown_ms=10 * MINUTE_MS), 10, TAKES),
        (with_options(preemption_cooldown_ms=0), 0, TAKES),
        (replace(FAIR, faithful=True), 0, TAKES),
    ],
)
def test_it_asks_when_it_has_cooled_down(
    settings: KueueSettings, minutes: float, expected: list[str]
) -> None:
    assert told(planned(world(), settings, minutes)) == expected


def test_who_never_gave_way_asks_at_once() -> None:
    assert told(plan(cluster(POOL, JOBS), FAIR, PREEMPTED_MS)) == TAKES


def claim_told(settings: KueueSettings, minutes: float) -> tuple[str, int | None, tuple[str, ...]]:
    (wait,) = planned(world(), settings, minutes).decisions
    assert isinstance(wait, Wait)
    (claim,) = wait.claims
    return claim.reason.code, claim.reason.remaining_ms, claim.reason.names


def test_it_is_told_for_how_long_and_who_would_give_way() -> None:
    assert claim_told(FAIR, 10) == ("CoolsDown", 20 * MINUTE_MS, ("c",))


def test_of_a_delay_and_a_cooldown_the_one_is_told_that_ends_later() -> None:
    """It was queued at minute 0 and gave way at minute 100; now it is minute 110."""
    longer = with_options(preemption_delay_ms=140 * MINUTE_MS)
    assert claim_told(longer, 10) == ("WaitsBeforeSharing", 30 * MINUTE_MS, ("c",))
    shorter = with_options(preemption_delay_ms=120 * MINUTE_MS)
    assert claim_told(shorter, 10) == ("CoolsDown", 20 * MINUTE_MS, ("c",))


def test_idle_room_it_takes_at_once() -> None:
    state = world()
    finish(state, "b")
    assert told(planned(state)) == ["start a"]


def test_what_its_queue_owns_it_takes_back_at_once() -> None:
    assert told(planned(world(OWNED))) == [
        "evict c for a: InCohortReclamation",
        "reserve a until c left",
    ]


def test_the_less_important_of_its_own_queue_it_asks_at_once() -> None:
    """Early has 3 and late 3, as is fair; b is early's, and less important than a."""
    assert told(planned(world(POOL, JOBS.replace("b    late ", "b    early")))) == [
        "evict b for a: InClusterQueue",
        "reserve a until b left",
    ]


def test_others_of_its_queue_ask_in_its_place() -> None:
    """D is like a, and never gave way."""
    state = world(POOL, f"{JOBS}d    early 3    1        9       -\n")
    assert told(planned(state)) == [
        "evict c for d: InCohortFairSharing",
        "reserve d until c left",
        "wait a: QuotaIsKept",
    ]


def test_who_gives_way_in_a_plan_that_is_carried_out_cools_down() -> None:
    """C gives way to a. When b has left, d of early has its place, so c is due one again."""
    state = cluster(POOL, JOBS)
    taken = plan(state, FAIR, PREEMPTED_MS)
    carry_out(state, taken.decisions, PREEMPTED_MS, keeps_reservations=False)
    assert told(planned(state, minutes=0)) == ["start a", "wait c: WaitingForQuota"]
    carry_out(state, planned(state, minutes=0).decisions, PREEMPTED_MS, keeps_reservations=False)
    finish(state, "b")
    add(state, {"name": "d", "queue": "early", "asks": "3", "running": "5"})
    assert told(planned(state, minutes=29)) == ["wait c: WaitingForQuota"]
    assert told(planned(state, minutes=30))[0] == "evict d for c: InCohortFairSharing"


def test_a_policy_that_follows_a_state_wakes_who_has_cooled_down() -> None:
    state, policy = world(), KueuePolicy(FAIR)
    changed = []
    for minutes in (29, 30):
        plan = policy.plan(state, PREEMPTED_MS + minutes * MINUTE_MS, explain=False)
        changed.append([each.workload for each in plan.decisions])
        assert plan.time_dependent == (minutes < 30)
        cold_ms = PREEMPTED_MS + 30 * MINUTE_MS
        assert plan.valid_until_ms == (cold_ms if minutes < 30 else None)
    assert changed == [[], ["c", "a"]]


def test_an_earlier_moment_does_not_get_the_plan_of_a_later_one() -> None:
    state, policy = world(), KueuePolicy(FAIR)
    for minutes, expected in ((30, TAKES), (29, WAITS)):
        assert told(policy.plan(state, PREEMPTED_MS + minutes * MINUTE_MS)) == expected
    assert changes_of(policy, state, PREEMPTED_MS + 30 * MINUTE_MS)
    assert not changes_of(policy, state, PREEMPTED_MS + 29 * MINUTE_MS)


def test_the_head_of_a_strict_queue_lets_nobody_pass_while_it_cools_down() -> None:
    """As any head there that cannot be admitted."""
    strict = POOL.replace("reclaim", "reclaim strategy").replace("Any", "Any     StrictFIFO")
    strict = strict.replace("-             -", "-             -       -")
    state = world(strict, f"{JOBS}d    early 3    1        9       -\n")
    assert told(planned(state)) == ["wait a: WaitingForQuota", "wait d: BehindHead"]


def test_a_policy_that_follows_a_state_wakes_who_is_owed_its_quota_again() -> None:
    """Early owns 3. X of early gives them free, and others let c of late have them at once."""
    state = world(OWNED, JOBS.replace("c    late  3    0 ", "x    early 3    9 "))
    policy, now_ms = KueuePolicy(FAIR), PREEMPTED_MS + MINUTE_MS
    assert changes_of(policy, state, now_ms) == []
    finish(state, "x")
    add(state, {"name": "c", "queue": "late", "asks": "3", "running": "5"})
    evicted, _ = changes_of(policy, state, now_ms)
    assert (evicted.workload, evicted.reason.code) == ("c", "InCohortReclamation")


def test_a_plan_holds_until_somebody_has_cooled_down() -> None:
    state, policy = world(), KueuePolicy(FAIR)
    plans = []
    for minutes in (29, 30):
        plan = policy.plan(state, PREEMPTED_MS + minutes * MINUTE_MS)
        plans.append(told(plan))
        assert plan.time_dependent == (minutes < 30)
    assert plans == [WAITS, TAKES]
