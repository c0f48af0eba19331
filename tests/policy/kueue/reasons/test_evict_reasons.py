"""Why a workload gives way: stories with their arithmetic, then a law."""

from decimal import Decimal

import pytest
from hypothesis import given
from msgspec.structs import replace

from fairlead.fairness.dominant_share import weigh
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Reason
from fairlead.model.queue import BorrowWithinCohort
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.preemption.targets import ShareComparison, Target
from fairlead.policy.kueue.reasons.evict import evict_reason
from fairlead.policy.kueue.settings import KueueSettings, Strategy
from fairlead.policy.kueue.workloads import AdmittedWorkload
from tests.policy.kueue.cycle_world import (
    CLASSICAL,
    FAIR,
    CycleWorld,
    cycle_worlds,
    read_world,
)
from tests.policy.kueue.told_reason import told

ONE_QUEUE = """
    name parent within reclaim red/cpu
    a    -      newer  never   4
"""
LENT = """
    name parent within reclaim red/cpu red/memory
    top  -      -      -       0       9
    a    top    never  any     4       0
    b    top    never  never   1       9
"""
# All of 12 can be lent at the top.
FAIR_SIDES = """
    name parent within reclaim red/cpu
    top  -      -      -       12
    a    top    never  any     0
    b    top    never  never   0
"""
FIRST = replace(FAIR, strategies=("LessThanOrEqualToFinalShare",))
SECOND = replace(FAIR, strategies=("LessThanInitialShare",))


def reasons(world: CycleWorld, nomination: Nomination | None = None) -> dict[WorkloadName, Reason]:
    """Why each target of the first head gives way."""
    nomination = nomination or world.nominations()[0]
    return {
        target.workload.name: reason_for(world, nomination, target) for target in nomination.targets
    }


def reason_for(world: CycleWorld, nomination: Nomination, target: Target) -> Reason:
    snapshot = world.snapshot()
    rules = snapshot.rules[nomination.pending.queue]
    return evict_reason(snapshot.tree, world.axes(), rules, nomination, target)


def world_of(
    queues: str, held: str, asks: str, *, queued: int = 0, settings: KueueSettings = FAIR
) -> CycleWorld:
    heads = f"name queue priority queued asks\nhead a 5 {queued} {asks}"
    groups = "red: cpu memory" if "memory" in queues else "red: cpu"
    return read_world(groups, queues, f"name queue priority uses\n{held}", heads, settings=settings)


@pytest.mark.parametrize("settings", [FAIR, CLASSICAL], ids=["fair", "classical"])
@pytest.mark.parametrize(
    ("priority", "queued", "compared"),
    [(4, 0, "priority 5 > priority 4 at a"), (5, -7, "queued at -7 < queued at 0 at a")],
)
def test_a_more_important_or_older_one_of_the_queue_is_told(
    settings: KueueSettings, priority: int, queued: int, compared: str
) -> None:
    held = f"k a {priority} red/cpu=4"
    world = world_of(ONE_QUEUE, held, "cpu=1", queued=queued, settings=settings)
    assert told(reasons(world)[WorkloadName("k")]) == ["InClusterQueue a", compared]


@pytest.mark.parametrize("settings", [FAIR, CLASSICAL], ids=["fair", "classical"])
def test_what_was_lent_goes_back(settings: KueueSettings) -> None:
    # 5 in use, of which b's own is 1. b borrows no memory, and a lacks none.
    world = world_of(LENT, "k b 9 red/cpu=5,red/memory=2", "cpu=2", settings=settings)
    assert told(reasons(world)[WorkloadName("k")]) == [
        "InCohortReclamation b",
        "red/cpu: allocated 5 > quota 1 at b",
    ]


def test_the_share_that_is_left_is_told() -> None:
    # Thousandths of 12: a 0 -> 3, 250. b 12 -> 9, 750.
    held = "k b 9 red/cpu=9\nl b 0 red/cpu=3"
    world = world_of(FAIR_SIDES, held, "cpu=3", settings=FIRST)
    assert told(reasons(world)[WorkloadName("l")]) == [
        "InCohortFairSharing b",
        "later share of a 250 <= later share of b 750 at b",
        "a: 0 -> 250",
        "b: 1000 -> 750",
    ]


def test_the_share_that_was_there_before_is_told() -> None:
    # a 0 -> 6, 500. b 12 -> 0: 500 > 0, but 500 < 1000.
    world = world_of(FAIR_SIDES, "k b 9 red/cpu=12", "cpu=6", settings=SECOND)
    assert told(reasons(world)[WorkloadName("k")]) == [
        "InCohortFairSharing b",
        "later share of a 500 < share of b 1000 at b",
        "a: 0 -> 500",
        "b: 1000 -> 0",
    ]


@pytest.mark.parametrize(
    ("strategy", "told_of"),
    [
        ("LessThanInitialShare", "share without weight of b 300"),
        ("LessThanOrEqualToFinalShare", "later share without weight of b 200"),
    ],
)
def test_borrowers_of_weight_0_are_told_apart_before_weights(
    strategy: Strategy, told_of: str
) -> None:
    none, weight = Decimal(0), [weigh(ratio, Decimal(0), "cpu", True) for ratio in (200, 300)]
    compared = ShareComparison(
        strategy=strategy,
        preemptor_side=QueueName("a"),
        preemptor_before=weigh(0, none, None, False),
        preemptor_after=weigh(150, none, "cpu", True),
        target_side=QueueName("b"),
        target_before=weight[1],
        target_after=weight[0],
    )
    admitted = AdmittedWorkload(WorkloadName("k"), QueueName("b"), 0, ((0, 1),), 0, 0)
    target = Target(workload=admitted, reason="InCohortFairSharing", compared=compared)
    world = world_of(FAIR_SIDES, "k b 9 red/cpu=12", "cpu=6")
    reason = reason_for(world, world.nominations()[0], target)
    sign = "<" if strategy == "LessThanInitialShare" else "<="
    assert told(reason)[1:] == [
        f"later share without weight of a 150 {sign} {told_of} at b",
        "a: 0 -> inf",
        "b: inf -> inf",
    ]
    assert reason.comparisons[0].holds()


@pytest.mark.parametrize("threshold", [None, 3])
def test_who_borrows_and_is_more_important_is_told_with_the_threshold(
    threshold: int | None,
) -> None:
    # a has no quota, and 12 are in use of 12.
    world = world_of(FAIR_SIDES, "k b 3 red/cpu=12", "cpu=3", settings=CLASSICAL)
    a = QueueName("a")
    borrowing = BorrowWithinCohort(policy="LowerPriority", max_priority_threshold=threshold)
    rules = replace(world.rules[a], borrow_within_cohort=borrowing)
    world = replace(world, rules={**world.rules, a: rules})
    bound = ["priority of b 3 <= maxPriorityThreshold of a 3 at a"]
    assert told(reasons(world)[WorkloadName("k")]) == [
        "InCohortReclaimWhileBorrowing b",
        "priority 5 > priority 3 at b",
        *(bound if threshold else []),
    ]


@given(world=cycle_worlds())
def test_every_loss_has_numbers_and_they_hold(world: CycleWorld) -> None:
    for nomination in world.nominations():
        by_name = reasons(world, nomination) if nomination.targets else {}
        for target in nomination.targets:
            reason = by_name[target.workload.name]
            assert reason.code == target.reason
            assert reason.comparisons
            assert all(each.holds() for each in reason.comparisons)
            assert len(reason.shares) == (2 if reason.code == "InCohortFairSharing" else 0)
