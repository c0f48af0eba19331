"""Plans in which the past use of LocalQueues orders what waits inside a ClusterQueue."""

from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.queue import ClusterQueue
from fairlead.policy.kueue.pending.queue import UsageOrderedQueue
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import PendingWorkload
from tests.policy.kueue.plan_world import plan, told, with_catalogue, with_rules
from tests.policy.kueue.use_world import BY_USE, OFF, QUEUE, started, uses_of, world

TWO_DOORS = """
    name used at     weight
    a    0    10000  1
    b    0    10000  1
"""
FOUR_EACH = """
    name queue asks priority created door
    a1   q     2    0        1       a
    a2   q     2    0        2       a
    a3   q     2    0        3       a
    b1   q     2    0        4       b
    b2   q     2    0        5       b
    b3   q     2    0        6       b
"""


def test_two_local_queues_alternate_within_a_plan() -> None:
    """Each admission of 2 counts for 1 at once: a 1, b 1, a 2, b 2; then no quota is left."""
    state = world(TWO_DOORS, FOUR_EACH, quota=8)
    assert told(plan(state, BY_USE)) == [
        "start a1",
        "start b1",
        "start a2",
        "start b2",
        "wait a3: WaitingForQuota",
        "wait b3: WaitingForQuota",
    ]
    assert started(state, OFF) == ["a1", "a2", "a3", "b1"]


def test_a_local_queue_of_double_weight_gets_two_for_one() -> None:
    """a: 1/1, then b 1/2, b 2/2; equal at 1, the older one is next, and so on."""
    doors = TWO_DOORS.replace("b    0    10000  1", "b    0    10000  2")
    assert started(world(doors, FOUR_EACH, quota=12)) == ["a1", "b1", "b2", "a2", "b3", "a3"]


def test_a_use_of_the_past_is_made_up_for_first() -> None:
    """Here a has used 3 before, and each admission of b counts for 1."""
    doors = TWO_DOORS.replace("a    0", "a    3")
    assert started(world(doors, FOUR_EACH, quota=12)) == ["b1", "b2", "b3", "a1", "a2", "a3"]


def test_who_has_no_weight_is_served_when_nobody_else_waits() -> None:
    doors = TWO_DOORS.replace("a    0    10000  1", "a    0    10000  0")
    assert started(world(doors, FOUR_EACH, quota=8)) == ["b1", "b2", "b3", "a1"]


def test_who_does_not_fit_lets_others_pass_and_costs_its_local_queue_nothing() -> None:
    workloads = """
        name queue asks priority created door
        a1   q     9    9        1       a
        a2   q     2    0        2       a
        b1   q     2    0        3       b
    """
    state = world(TWO_DOORS, workloads, quota=8)
    assert started(state) == ["a2", "b1"]


def test_with_strict_order_a_head_that_does_not_fit_blocks_all_local_queues() -> None:
    workloads = """
        name queue asks priority created door
        a1   q     9    9        1       a
        a2   q     2    0        2       a
        b1   q     2    0        3       b
    """
    state = world(TWO_DOORS, workloads, quota=8)
    with_rules(state, "q", queueing_strategy="StrictFIFO")
    assert told(plan(state, BY_USE)) == [
        "wait a1: ExceedsMaxQuota",
        "wait a2: BehindHead",
        "wait b1: BehindHead",
    ]


def test_a_preempting_head_stays_first_until_it_has_its_place() -> None:
    """Here b used less, but others give way to a1 already, so b1 waits behind it.

    So in Kueue, even if no workload is leaving. In our own mode a1 would have no right any more.
    """
    workloads = """
        name queue asks priority created door preempting running
        old  q     8    0        0       a    no         1
        a1   q     8    9        1       a    yes        -
        b1   q     8    9        2       b    no         -
    """
    state = world(TWO_DOORS.replace("a    0", "a    5"), workloads, 8, "LowerPriority")
    assert told(plan(state, replace(BY_USE, faithful=True))) == [
        "evict old for a1: InClusterQueue",
        "reserve a1 until old left",
        "wait b1: BehindHead",
    ]


def test_whose_turn_is_kept_is_the_first_of_those_left() -> None:
    state = world(TWO_DOORS.replace("a    0", "a    5"), FOUR_EACH)
    rules = state.queues[QUEUE].extension
    assert isinstance(rules, ClusterQueue)
    pending = [PendingWorkload(WorkloadName(name), QUEUE, 0, 0, ()) for name in ("a1", "b1")]
    line = UsageOrderedQueue(pending, rules, WorkloadName("a1"), uses_of(state))
    assert [(each.name, behind) for each, behind in line.not_admitted()] == [
        ("a1", None),
        ("b1", pending[0]),
    ]
    line.preempting = None
    assert [each.name for each, _ in line.not_admitted()] == ["b1", "a1"]


HOLDERS = """
    name queue asks priority created door running
    a1   q     2    0        0       a    1
    b1   q     2    1        0       b    2
    c    q     2    5        3       c    -
"""
THREE_DOORS = """
    name used at     weight
    a    {}    10000  1
    b    {}    10000  {}
    c    0    10000  1
"""


@pytest.mark.parametrize(
    ("used", "victim"),
    [
        ((2, 1, 1), "a1"),  # a used more
        ((1, 2, 1), "b1"),  # b used more, so its workload goes although it is more important
        ((2, 2, 1), "a1"),  # equal: the less important goes
        ((2, 3, 2), "a1"),  # 3 / 2 < 2
        ((2, 0, 0), "b1"),  # without weight no LocalQueue has used more
    ],
)
def test_in_its_own_queue_who_used_most_gives_way_first(
    used: tuple[int, int, int], victim: str
) -> None:
    state = world(THREE_DOORS.format(*used), HOLDERS, 4, "LowerPriority")
    assert told(plan(state, BY_USE))[0] == f"evict {victim} for c: InClusterQueue"
    assert told(plan(state, OFF))[0] == "evict a1 for c: InClusterQueue"
    fair = replace(BY_USE, fair_sharing=True)
    assert told(plan(state, fair))[0] == f"evict {victim} for c: InClusterQueue"
    with_rules(state, "q", usage_based_admission=False)
    assert told(plan(state, BY_USE))[0] == "evict a1 for c: InClusterQueue"


def test_who_is_leaving_already_is_asked_before_who_used_most() -> None:
    state = world(THREE_DOORS.format(1, 2, 1), HOLDERS, 4, "LowerPriority")
    with_catalogue(
        state,
        local_queues={
            name: replace(each, stopped=each.name == "a", drained=each.name == "a")
            for name, each in state.catalogue.local_queues.items()
        },
    )
    assert told(plan(state, BY_USE)) == [
        "evict a1: LocalQueueStopped",
        "reserve c until a1 left",
    ]


@pytest.mark.parametrize("fair_sharing", [False, True])
def test_for_other_queues_the_use_of_local_queues_does_not_count(fair_sharing: bool) -> None:
    """Here b used more than a, but r takes back its quota from the less important a1."""
    queues = """
        name parent quota within reclaim
        ALL  -      0     -      -
        q    ALL    2     -      -
        r    ALL    2     -      Any
    """
    workloads = """
        name queue asks priority created door running
        a1   q     2    0        0       a    1
        b1   q     2    1        0       b    2
        c    r     2    5        3       r    -
    """
    state = world(THREE_DOORS.format(1, 2, 1), workloads, queues=queues)
    settings = replace(BY_USE, fair_sharing=fair_sharing)
    assert told(plan(state, settings))[0] == "evict a1 for c: InCohortReclamation"


NOT_COUNTED = {
    "the queue does not ask for it": (BY_USE, {"usage_based_admission": False}),
    "nothing is configured": (OFF, {}),
    "the gate is closed": (replace(BY_USE, feature_gates=(("AdmissionFairSharing", False),)), {}),
}


@pytest.mark.parametrize(("settings", "rules"), NOT_COUNTED.values(), ids=NOT_COUNTED)
def test_past_use_counts_for_nothing_where(settings: KueueSettings, rules: dict[str, Any]) -> None:
    state = world(TWO_DOORS.replace("a    0", "a    5"), FOUR_EACH, quota=8)
    with_rules(state, "q", **rules)
    assert plan(state, settings).decisions == plan(state, OFF).decisions
    assert started(state, settings) == ["a1", "a2", "a3", "b1"]


def test_a_plan_is_made_anew_as_time_passes() -> None:
    """At 10 s b used less, 3 < 4. At 20 s it holds more: (4 + 2000) / 2 < (3 + 8000) / 2."""
    doors = """
        name used at     weight
        a    4    10000  1
        b    3    10000  1
    """
    workloads = """
        name queue asks priority created door running
        ra   q     2000 0        0       a    0
        rb   q     8000 0        0       b    0
        a1   q     1    0        1       a    -
        b1   q     1    0        1       b    -
    """
    state = world(doors, workloads, quota=10_001)
    policy = KueuePolicy(BY_USE)

    def first(now_ms: int) -> str:
        return str(policy.plan(state, now_ms).decisions[0].workload)

    assert [first(10_000), first(20_000), first(10_000)] == ["b1", "a1", "b1"]
