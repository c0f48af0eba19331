"""Preemption that never ends: as Kueue decides, in our own mode, and never with the option."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Evict, Reserve, Start
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.loops.follow import (
    FAITHFUL,
    MODES,
    NO_LOOPS,
    OWN,
    AssignmentMode,
    Course,
    follow,
)
from tests.policy.kueue.loops.random_world import random_world
from tests.policy.kueue.loops.small_world import SmallWorld
from tests.policy.kueue.plan_world import plan
from tests.policy.kueue.preemption.test_eviction_history import claims
from tests.scale_examples import scale_examples
from tests.text_table import rows

FAIR = KueueSettings(fair_sharing=True)
FAIR_NO_LOOPS = KueueSettings(
    fair_sharing=True, options=KueueOptions(no_preemption_loops=True, preemption_cooldown_ms=0)
)
CLASSICAL = KueueSettings()
where_promises_are_kept = pytest.mark.parametrize("mode", [OWN, NO_LOOPS])


Granted: TypeAlias = tuple[tuple[dict[str, str], ...], tuple[Placement, ...]]


def world(queues: str, workloads: str, rules: KueueSettings = FAIR) -> SmallWorld:
    return SmallWorld(rules, tuple(rows(queues)), tuple(rows(workloads)))


def evictions(progress: Course) -> list[str]:
    return [f"{each.workload} for {each.beneficiary}" for each in progress.evictions()]


def evictions_of_the_loop(progress: Course) -> list[str]:
    return evictions(progress._replace(plans=progress.loop()))


def running(progress: Course) -> list[str]:
    return sorted(progress.state.runs)


# What LEFT has of its own is q0's 2, and q1 has the other 2. Everything that w0 has is borrowed.
FIVE = world(
    """
    name parent quota reclaim
    ROOT -      0     -
    LEFT ROOT   0     -
    q0   LEFT   2     Any
    q1   ROOT   2     Any
    q2   LEFT   0     Any
    """,
    """
    name queue asks created
    w0   q2    2    0
    w1   q1    3    1
    w2   q0    4    2
    w3   q0    3    3
    w4   q1    3    4
    """,
)


def test_five_workloads_go_round_in_circles_as_kueue_decides() -> None:
    """All want some of 4, and no two of them fit beside each other.

    w3 takes w0's place: with it q0 has borrowed 1 of the 4 that LEFT could use, q2 2 of them.
    But then LEFT and q1 would each borrow 1 of 4, with w3 and w1, and w1 is older: it is faster.
    w0 takes w1's place: with it LEFT uses 2 of its 2 and has borrowed nothing.
    """
    progress = follow(FIVE, FAITHFUL)
    assert evictions_of_the_loop(progress) == ["w1 for w0", "w0 for w3"]


@where_promises_are_kept
def test_the_five_come_to_rest_if_the_room_is_kept(mode: AssignmentMode) -> None:
    """w3 gets the room that it was promised. Its 3 of LEFT's 2 leave 1, too little for w0."""
    progress = follow(FIVE, mode)
    assert progress.loops_from is None
    assert evictions(progress) == ["w0 for w3"]
    assert running(progress) == ["w3"]


# 4 in all: 1 is small's, 3 are large's, which counts double.
THREE = world(
    """
    name  parent quota weight reclaim
    ROOT  -      0     1      -
    small ROOT   1     1      Any
    large ROOT   3     2      Any
    """,
    """
    name queue asks created
    s1   small 1    0
    s2   small 2    1
    l    large 4    2
    """,
)


def test_three_workloads_of_two_queues_go_round_in_circles() -> None:
    """s1 and s2 hold 3, so small has borrowed 2 of 4: its share is 500.

    With l, large would have borrowed 1 of 4 at weight 2: 125. Without s1 small stands at
    250 >= 125, and s2 goes because 125 < 250 before that: both give way to l.
    But when they have left, s1, which borrows nothing, and s2 are older and faster than l.
    """
    progress = follow(THREE, FAITHFUL)
    assert evictions_of_the_loop(progress) == ["s1 for l", "s2 for l"]


def test_that_each_gets_the_room_it_made_is_no_cure() -> None:
    """Now l runs, and s1 takes back the 1 that is small's own: 0 + 1 <= 1. s2 fits again too."""
    progress = follow(THREE, OWN)
    assert evictions_of_the_loop(progress) == ["s1 for l", "s2 for l", "l for s1"]


def test_the_three_come_to_rest_when_l_has_lost_to_the_quota_of_another() -> None:
    progress = follow(THREE, NO_LOOPS)
    assert evictions(progress) == ["s1 for l", "s2 for l", "l for s1"]
    assert (progress.loops_from, running(progress)) == (None, ["s1", "s2"])


def test_who_is_refused_is_told_whom_it_must_not_ask() -> None:
    """s2 alone could be asked, but leaves l only 4 - 1 = 3 of the 4 that it needs."""
    planned = plan(follow(THREE, NO_LOOPS).state, FAIR_NO_LOOPS)
    assert claims(planned, "l") == [("WouldLoop", "s1")]


def test_a_queue_goes_round_alone_with_one_that_is_never_fast_enough() -> None:
    """The shortest of all loops of three workloads: w0 starts and is evicted in every plan.

    w2 may have w0's place: with w2 LEFT uses 1 of its 1. When the 2 are free, w1 is before w2
    inside LEFT (each would borrow 1 of 2, w1 is older) and w0 before w1 at the root (the same).
    """
    shortest = world(
        """
        name parent quota reclaim
        ROOT -      0     -
        LEFT ROOT   0     -
        q0   LEFT   0     Any
        q1   LEFT   1     Any
        q2   ROOT   1     Any
        """,
        """
        name queue asks created arrives
        w0   q2    2    0       0
        w1   q1    2    1       1
        w2   q0    1    2       1
        """,
    )
    progress = follow(shortest, FAITHFUL)
    assert (len(progress.loop()), evictions_of_the_loop(progress)) == (1, ["w0 for w2"])
    for mode in (OWN, NO_LOOPS):
        calm = follow(shortest, mode)
        assert (evictions(calm), running(calm)) == (["w0 for w2"], ["w2"])


def test_without_fair_sharing_there_are_loops_too() -> None:
    """w0 takes back its own from w1, w3 has w0's place by importance, and w1 is faster than w3."""
    importance = world(
        """
        name parent quota within        reclaim borrowWithin
        ROOT -      1     -             -       -
        q0   ROOT   1     Never         Any     Never
        q1   ROOT   2     LowerPriority Any     LowerPriority
        """,
        """
        name queue asks priority created
        w0   q1    1    0        0
        w1   q0    4    1        1
        w3   q1    4    1        3
        """,
        CLASSICAL,
    )
    progress = follow(importance, FAITHFUL)
    assert evictions_of_the_loop(progress) == ["w0 for w3", "w1 for w0"]
    for mode in (OWN, NO_LOOPS):
        calm = follow(importance, mode)
        assert (calm.loops_from, running(calm)) == (None, ["w3"])


@settings(max_examples=scale_examples(150))
@given(st.integers(0, 2**32).map(random_world))
def test_with_the_option_plans_come_to_rest(found: SmallWorld) -> None:
    assert follow(found, NO_LOOPS).loops_from is None


def reached(edges: Iterable[tuple[str, str, int]], start: str, weakest: int) -> set[str]:
    """Return who stands above *start*, plainly: one more step until there is no more."""
    above = {start}
    while True:
        more = {winner for loser, winner, right in edges if loser in above and right <= weakest}
        if more <= above:
            return above - {start}
        above |= more


def weakness(evicted: Evict) -> int:
    """Return how weak the right is: 0 importance in one queue, 1 its own quota, 2 other rights."""
    if evicted.reason.code == "InClusterQueue":
        return 0
    return 1 if evicted.by_own_quota else 2


@settings(max_examples=scale_examples(150))
@given(st.integers(0, 2**32).map(random_world))
def test_no_eviction_closes_a_circle_among_earlier_ones_as_strong(found: SmallWorld) -> None:
    edges: list[tuple[str, str, int]] = []
    for decisions in follow(found, NO_LOOPS).plans:
        evicted = [each for each in decisions if isinstance(each, Evict)]
        for each in evicted:
            if weakness(each):  # importance in a queue is never refused
                assert each.workload not in reached(edges, str(each.beneficiary), weakness(each))
        edges += [(each.workload, str(each.beneficiary), weakness(each)) for each in evicted]


@where_promises_are_kept
@settings(max_examples=scale_examples(150))
@given(found=st.integers(0, 2**32).map(random_world))
def test_who_has_a_promise_keeps_it_until_it_starts(
    found: SmallWorld, mode: AssignmentMode
) -> None:
    """The same flavors for the same pods, and no other workload is evicted for it meanwhile.

    That is what the proof that plans come to rest begins with.
    """
    promised: dict[WorkloadName, Granted] = {}
    for decisions in follow(found, mode).plans:
        granted = [each for each in decisions if isinstance(each, Reserve | Start)]
        kept = {each.workload: (each.flavors, each.placements) for each in granted}
        assert promised == {name: kept.get(name) for name in promised}
        assert not any(
            each.beneficiary in promised for each in decisions if isinstance(each, Evict)
        )
        pending = {each.workload for each in granted if isinstance(each, Reserve)}
        promised = {name: kept[name] for name in pending}


def leaving_in_each(world: SmallWorld, progress: Course) -> list[set[str]]:
    """Return who was told before each plan to leave, and is still there."""
    lingering = world.lingering()
    leaving: list[set[str]] = [set() for _ in progress.plans]
    for number, decisions in enumerate(progress.plans):
        for each in decisions:
            if isinstance(each, Evict):
                for later in leaving[number + 1 : number + 1 + lingering.get(each.workload, 0)]:
                    later.add(each.workload)
    return leaving


@where_promises_are_kept
@settings(max_examples=scale_examples(150))
@given(found=st.integers(0, 2**32).map(random_world))
def test_who_preempted_starts_as_soon_as_nobody_is_leaving_any_more(
    found: SmallWorld, mode: AssignmentMode
) -> None:
    """Whoever else comes or waits meanwhile."""
    progress = follow(found, mode)
    promised: set[WorkloadName] = set()
    for decisions, leaving in zip(progress.plans, leaving_in_each(found, progress), strict=True):
        started = {each.workload for each in decisions if isinstance(each, Start)}
        assert leaving or promised <= started
        promised = {each.workload for each in decisions if isinstance(each, Reserve)}


@where_promises_are_kept
@settings(max_examples=scale_examples(150))
@given(found=st.integers(0, 2**32).map(random_world))
def test_a_workload_preempts_at_most_once_more_often_than_it_is_evicted(
    found: SmallWorld, mode: AssignmentMode
) -> None:
    preempted: dict[WorkloadName | None, int] = defaultdict(int)
    lost: dict[WorkloadName | None, int] = defaultdict(int)
    for decisions in follow(found, mode).plans:
        evicted = [each for each in decisions if isinstance(each, Evict)]
        for each in evicted:
            lost[each.workload] += 1
        for name in {each.beneficiary for each in evicted}:
            preempted[name] += 1
            assert preempted[name] <= lost[name] + 1


@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_is_at_rest_is_disturbed(mode: AssignmentMode) -> None:
    calm = world(
        """
        name parent quota reclaim
        ROOT -      0     -
        q0   ROOT   2     Any
        q1   ROOT   2     Any
        """,
        """
        name queue asks created
        w0   q0    2    0
        w1   q1    2    1
        """,
    )
    progress = follow(calm, mode)
    assert (len(progress.plans), running(progress)) == (2, ["w0", "w1"])
