"""One ClusterQueue's line, and what its shortcut may and may not change in a plan."""

from collections.abc import Hashable, Iterator
from random import Random
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Plan, Wait
from fairlead.model.queue import ClusterQueue, QueuePreemption
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.rounds import CycleRounds
from fairlead.policy.kueue.cycle.source import PlainTrees
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending.queue import PendingQueue, pending_order
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.policy.kueue.workloads import Demand, PendingWorkload
from tests.policy.kueue.plan_world import FAIR, NOW_MS, cluster, plan, told
from tests.policy.kueue.random_plan_world import PlanWorld, follow, random_plan_world
from tests.scale_examples import scale_examples

BEST_EFFORT = ClusterQueue()
STRICT = ClusterQueue(queueing_strategy="StrictFIFO")


def pending(name: str, asks: int = 1, priority: int = 0, queued_ms: int = 0) -> PendingWorkload:
    demands = (Demand({"gpu": asks}),)
    return PendingWorkload(WorkloadName(name), QueueName("q"), priority, queued_ms, demands)


def line(*those: PendingWorkload, rules: ClusterQueue = BEST_EFFORT) -> PendingQueue:
    return PendingQueue(those, rules, None)


def head(of: PendingQueue) -> str | None:
    found = of.head()
    return None if found is None else found.name


def left(of: PendingQueue) -> list[str]:
    """Who is left: ``a`` had its turn, ``b < a`` stands behind it."""
    return [
        each.name if first is None else f"{each.name} < {first.name}"
        for each, first in of.not_admitted()
    ]


def test_who_is_admitted_leaves_the_line() -> None:
    those = line(pending("a"), pending("b"))
    those.admit(WorkloadName("a"))
    assert head(those) == "b"
    assert left(those) == ["b"]
    those.admit(WorkloadName("b"))
    assert head(those) is None
    assert left(those) == []


def test_with_best_effort_fifo_those_that_ask_for_the_same_step_aside_together() -> None:
    those = line(pending("a", 3), pending("b", 1), pending("c", 3), pending("d", 1))
    those.mark_inadmissible(WorkloadName("a"))
    assert head(those) == "b"
    assert left(those) == ["a", "c", "b", "d < b"]


def test_who_was_admitted_does_not_step_aside_with_its_like() -> None:
    those = line(pending("a"), pending("b"), pending("c"))
    those.admit(WorkloadName("a"))
    those.mark_inadmissible(WorkloadName("b"))
    assert head(those) is None
    assert left(those) == ["b", "c"]


def test_with_strict_fifo_the_head_stays() -> None:
    those = line(pending("a"), pending("b"), rules=STRICT)
    those.mark_inadmissible(WorkloadName("a"))
    assert head(those) == "a"
    assert left(those) == ["a", "b < a"]


def test_who_steps_aside_or_is_admitted_preempts_nobody_any_more() -> None:
    for rules in (BEST_EFFORT, STRICT):
        for end in (PendingQueue.admit, PendingQueue.mark_inadmissible):
            those = PendingQueue([pending("a")], rules, WorkloadName("a"))
            end(those, WorkloadName("a"))
            assert those.preempting is None


def are_alike(preemption: QueuePreemption, first: PendingWorkload, second: PendingWorkload) -> bool:
    those = line(first, second, rules=ClusterQueue(preemption=preemption))
    return those.class_of(first.name) is those.class_of(second.name)


def test_importance_makes_a_difference_only_where_it_lets_ask_others() -> None:
    low, high = pending("low"), pending("high", priority=5)
    assert are_alike(QueuePreemption(), low, high)
    assert are_alike(QueuePreemption(reclaim_within_cohort="Any"), low, high)
    assert not are_alike(QueuePreemption(reclaim_within_cohort="LowerPriority"), low, high)
    assert not are_alike(QueuePreemption(within_cluster_queue="LowerPriority"), low, high)


def test_age_makes_no_difference_since_the_oldest_is_asked_first() -> None:
    old, new = pending("old"), pending("new", queued_ms=9)
    assert are_alike(QueuePreemption(within_cluster_queue="LowerPriority"), old, new)
    newer = QueuePreemption(within_cluster_queue="LowerOrNewerEqualPriority")
    assert are_alike(newer, old, new)


def test_who_loses_its_right_to_be_the_first_stands_where_it_belongs() -> None:
    strict = ClusterQueue(queueing_strategy="StrictFIFO")
    low, high = pending("low"), replace(pending("high"), priority=10)
    line = PendingQueue([low, high], strict, low.name)
    assert line.head() == low
    line.mark_inadmissible(low.name)
    assert line.head() == high
    assert list(line.not_admitted()) == [(high, None), (low, high)]


def test_what_is_asked_for_makes_a_difference() -> None:
    small, large = pending("small", 1), pending("large", 2)
    assert not are_alike(QueuePreemption(), small, large)
    fewer = replace(small, name=WorkloadName("fewer"), demands=(Demand({"gpu": 1}, 3, 1),))
    all_three = replace(small, demands=(Demand({"gpu": 1}, 3),))
    assert not are_alike(QueuePreemption(), fewer, all_three)
    red = replace(small, name=WorkloadName("red"), demands=(Demand({"gpu": 1}, flavors=[["red"]]),))
    assert not are_alike(QueuePreemption(), small, red)


@st.composite
def crowded_worlds(draw: st.DrawFn) -> PlanWorld:
    """Worlds in which every pending workload has two equal ones behind it."""
    world = random_plan_world(Random(draw(st.integers(0, 2**40))))
    others = [
        row | {"name": f"{row['name']}-{number}", "created": str(int(row["created"]) + number)}
        for row in world.workloads
        if "running" not in row
        for number in (1, 2)
    ]
    return world._replace(workloads=(*world.workloads, *others))


def own_shape(each: PendingWorkload, _: QueuePreemption) -> Hashable:
    return each.name


def changes(planned: Plan) -> list[str]:
    """What starts, what leaves for which workload, in order, and what is promised."""
    told_of = [each for each in told(planned) if not each.startswith("wait")]
    return [each.partition(" until ")[0] for each in told_of]


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(40))
@given(crowded_worlds())
def test_those_of_one_shape_would_have_the_same_and_take_it_from_the_same(world: PlanWorld) -> None:
    for state, _ in follow(world, most=3):
        reader = DemandReader(state, world.settings)
        restraints = PreemptionRestraints(state, world.settings, NOW_MS)
        for tree, _ in PlainTrees(state, world.settings, NOW_MS).waited_for():
            nominator = Nominator(tree.snapshot, state.axes, world.settings)
            for queue, rules in tree.rules.items():
                names = pending_order(state, queue, world.settings)
                those = [reader.pending(state.workloads[name], rules) for name in names]
                those = [replace(each, restraint=restraints.of(each)) for each in those]
                line = PendingQueue(those, rules, None)
                by_age = rules.preemption.within_cluster_queue == "LowerOrNewerEqualPriority"
                found: dict[Hashable, Nomination] = {}
                for each in those:
                    fate = nominator.nominate(each)
                    first = found.setdefault(line.class_of(each.name).scheduling_hash, fate)
                    # Who is older may ask more others; if that does not help, nothing does.
                    is_same = replace(first, pending=each, failed=fate.failed) == fate
                    assert is_same or (by_age and first.can_proceed())
                    assert by_age or first.failed == fate.failed


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(40))
@given(crowded_worlds())
def test_in_one_line_stepping_aside_together_changes_nothing_but_reasons(world: PlanWorld) -> None:
    """Who steps aside with others would have done so in its own turn, or stands behind a head.

    Where several queues take turns, the others have theirs a few cycles sooner than without the
    shortcut, and seldom something else comes of that.
    """
    waiting_in = [row["queue"] for row in world.workloads if "running" not in row][:1]
    rows = [r for r in world.workloads if "running" in r or r["queue"] in waiting_in]
    for number, (state, planned) in enumerate(follow(world._replace(workloads=tuple(rows)), 1)):
        with mock.patch("fairlead.policy.kueue.pending.queue.scheduling_hash", own_shape):
            plain = KueuePolicy(world.settings).plan(state, NOW_MS + number)
        assert changes(planned) == changes(plain)
        reasons = {each.workload: each for each in waits(planned)}
        for each in waits(plain):
            if each.reason.code != "BehindHead":
                assert reasons[each.workload] == each


def waits(planned: Plan) -> list[Wait]:
    return [each for each in planned.decisions if isinstance(each, Wait)]


def until_quiet(rounds: CycleRounds) -> Iterator[Turn]:
    """All cycles until one admits, evicts and sets aside no workload."""
    source = rounds._source
    is_quiet = False
    while not is_quiet:
        is_quiet = True
        for turn in source.next_cycle() or ():
            queue = source.queues[turn.nomination.pending.queue]
            if turn.outcome == "admitted" or rounds.newly_evicted(turn):
                is_quiet = False
                source._nominated = {}
                yield turn
            before = queue.head()
            rounds._follow(turn)
            is_quiet &= queue.head() is before


@settings(max_examples=scale_examples(40))
@given(crowded_worlds())
def test_what_a_plan_does_is_how_the_cycles_begin_that_go_on_until_nothing_happens(
    world: PlanWorld,
) -> None:
    """Who waits for others to leave is not asked again and again, so a plan may end sooner."""
    world = world._replace(settings=replace(world.settings, faithful=True))
    for number, (state, planned) in enumerate(follow(world, most=3)):
        with mock.patch.object(CycleRounds, "run", until_quiet):
            plain = KueuePolicy(world.settings).plan(state, NOW_MS + number)
        done, all_done = acts(planned), acts(plain)
        assert set(done) <= set(all_done)
        assert [each for each in all_done if each in done] == done


def acts(planned: Plan) -> list[str]:
    """Who starts and who is evicted, in order."""
    return [each for each in told(planned) if each.startswith(("start", "evict"))]


def test_two_that_ask_for_the_same_are_each_told_how_long_they_have_to_wait() -> None:
    """No workload asks others before it has waited for 9,000 ms; it is 10,000 now."""
    options = KueueOptions(preemption_delay_ms=9_000)
    state = cluster(
        """
        name parent quota reclaim
        POOL -      2     -
        a    POOL   0     Any
        b    POOL   0     -
        """,
        """
        name queue asks created running
        b1   b     1    0       1
        b2   b     1    0       1
        old  a     1    4000    -
        new  a     1    7000    -
        """,
    )
    planned = plan(state, KueueSettings(fair_sharing=True, options=options))
    left_ms = {each.workload: each.claims[0].reason.remaining_ms for each in waits(planned)}
    assert left_ms == {"old": 4_000 + 9_000 - 10_000, "new": 7_000 + 9_000 - 10_000}


def test_who_was_kept_out_by_one_that_steps_aside_has_its_turn_after_that() -> None:
    """2 of 4 are free. Big would have 3/4 and small, of weight 0.1, ten times 1/4: big is first.

    No workload is less important than big, but 3 are kept for it in its turn, so that small finds
    nothing. Then big steps aside, and small starts.
    """
    state = cluster(
        """
        name parent quota weight reclaim
        POOL -      4     1      -
        a    POOL   0     1      LowerPriority
        b    POOL   0     0.1    -
        c    POOL   0     1      -
        """,
        """
        name  queue asks priority running
        c1    c     2    9        1
        big   a     3    5        -
        small b     1    0        -
        """,
    )
    assert told(plan(state, FAIR)) == ["start small", "wait big: WaitingForQuota"]
