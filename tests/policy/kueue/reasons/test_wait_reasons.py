"""Why a workload does not get in: stories with their arithmetic, then laws."""

from typing import NamedTuple

import pytest
from hypothesis import given
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import FlavorFungibility
from fairlead.model.selector import LabelRequirement, Operator, Taint
from fairlead.policy.kueue.flavors.assignment import AssignmentMode, FlavorTrial
from fairlead.policy.kueue.flavors.eligibility import (
    Eligibility,
    FlavorMismatch,
    UnknownFlavor,
    UnmetLabels,
    UntoleratedTaint,
)
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.reasons.wait import QuotaReasons
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import PendingWorkload
from tests.policy.kueue.cycle_world import (
    CLASSICAL,
    FAIR,
    CycleWorld,
    cycle_worlds,
    demand,
    read_world,
)
from tests.policy.kueue.told_reason import told

HELD = "name queue priority uses\n"
NO_PARTS = KueueSettings(fair_sharing=True, feature_gates=(("PartialAdmission", False),))


class Story(NamedTuple):
    queues: str
    held: str
    asks: str  # by a head of priority 5 in queue a
    expected: str
    groups: str = "red blue: cpu"
    settings: KueueSettings = FAIR


def world_of(story: Story) -> CycleWorld:
    heads = f"name queue priority asks\nhead a 5 {story.asks}"
    held = HELD + story.held if story.held else ""
    return read_world(story.groups, story.queues, held, heads, settings=story.settings)


ALONE = """
    name parent within reclaim red/cpu blue/cpu
    a    -      never  never   4       2
"""
TWO_TEAMS = """
    name parent within reclaim red/cpu
    top  -      -      -       2
    a    top    never  never   4
    b    top    never  never   3
    c    top    never  never   0
"""
A_MAY_BORROW_1 = """
    name parent within reclaim red/cpu
    top  -      -      -       9
    a    top    never  never   4:borrow1
"""
SIDE_MAY_BORROW_2 = """
    name parent within reclaim red/cpu
    top  -      -      -       9
    side top    -      -       0:borrow2
    a    side   never  never   4
    b    side   never  never   1
    c    top    never  never   0
"""
TWO_RESOURCES = """
    name parent within reclaim red/cpu red/memory blue/cpu blue/memory
    a    -      never  never   4       8          4        8
"""
LEFT_FROM_THE_START = """
    name parent within reclaim red/cpu blue/cpu
    a    -      lower  never   4       4
"""
RED = "red: cpu"
BOTH = "red blue: cpu memory"

STORIES = {
    "nobody covers a resource": Story(
        ALONE,
        "",
        "cpu=9,gpu=1+disk=1",
        """
        ResourceNotCovered a
        disk
        gpu
        """,
    ),
    # 5 > 4 of red, 5 > 2 of blue; red lacks 1/5, blue 3/5.
    "more than there ever is, on the flavor that comes nearest": Story(
        ALONE,
        "k a 9 red/cpu=4",
        "cpu=5",
        """
        ExceedsMaxQuota a
        red/cpu: request 5 > potential 4 at a
        """,
    ),
    # 4 + 2 + 3 + 0.
    "the potential ends at the root": Story(
        TWO_TEAMS,
        "",
        "cpu=10",
        """
        ExceedsMaxQuota top
        red/cpu: request 10 > potential 9 at top
        """,
        RED,
    ),
    # 4 + 1, although there are 13.
    "the potential ends at a limit": Story(
        A_MAY_BORROW_1,
        "",
        "cpu=6",
        """
        ExceedsMaxQuota a
        red/cpu: request 6 > potential 5 at a
        """,
        RED,
    ),
    # The first set takes 3 of red. 3 + 3 = 6 > 4 lacks 2/6 there; 3 > 2 of blue lacks 1/3, as much.
    "what earlier pod sets took counts": Story(
        ALONE,
        "",
        "cpu=3+cpu=3",
        """
        ExceedsMaxQuota a
        red/cpu: request 6 > potential 4 at a
        """,
    ),
    # red 4 - 3 = 1: 3 more are needed of 4. blue: 4 > 2 is never enough.
    "a flavor that could do comes before one that never could": Story(
        ALONE,
        "k a 9 red/cpu=3",
        "cpu=4",
        """
        WaitingForQuota a
        red/cpu: request 4 > available 1 at a
        a has 3 red/cpu, 0 borrowed
        """,
        settings=CLASSICAL,
    ),
    # 9 - 8 = 1. b borrows 5 - 3 and c 1 - 0, so they come before a, which holds 2 of its own 4.
    "those who borrow most are told first": Story(
        TWO_TEAMS,
        "k a 9 red/cpu=2\nl b 9 red/cpu=5\nm c 9 red/cpu=1",
        "cpu=3",
        """
        WaitingForQuota top
        red/cpu: request 3 > available 1 at top
        b has 5 red/cpu, 2 borrowed
        c has 1 red/cpu, 1 borrowed
        a has 2 red/cpu, 0 borrowed
        """,
        RED,
    ),
    # 5 + 2 - 6 = 1 for the side, though 14 - 6 - 4 = 4 are left at the top. c is not of the side.
    "a limit on the way up ends it, and only those below it hold what lacks": Story(
        SIDE_MAY_BORROW_2,
        "k a 9 red/cpu=4\nl b 9 red/cpu=2\nm c 9 red/cpu=4",
        "cpu=2",
        """
        WaitingForQuota side
        red/cpu: request 2 > available 1 at side
        b has 2 red/cpu, 1 borrowed
        a has 4 red/cpu, 0 borrowed
        """,
        RED,
    ),
    # 2 + 3 = 5 are shared, and b uses 3 of them beyond the 6 that it keeps; c uses what it keeps.
    "who uses only what it does not lend holds nothing of it": Story(
        """
        name parent within reclaim red/cpu
        top  -      -      -       2
        a    top    never  never   3
        b    top    never  never   6:lend0
        c    top    never  never   4:lend0
        """,
        "l b 9 red/cpu=9\nm c 9 red/cpu=4",
        "cpu=3",
        """
        WaitingForQuota top
        red/cpu: request 3 > available 2 at top
        b has 9 red/cpu, 3 borrowed
        """,
        RED,
    ),
    # 9 of 8 in use: nothing is left, not less than nothing.
    "after quota was taken away nothing is available": Story(
        TWO_TEAMS.replace("3\n", "2\n"),
        "l b 9 red/cpu=9",
        "cpu=1",
        """
        WaitingForQuota top
        red/cpu: request 1 > available -1 at top
        b has 9 red/cpu, 7 borrowed
        """,
        RED,
    ),
    # red: 3/3 of the cpu lacks, and 0 of the memory. blue: 1/3 of the cpu, 1/2 of the memory.
    "every resource that lacks is told, on the flavor whose worst lacks least": Story(
        TWO_RESOURCES,
        "k a 9 red/cpu=4\nl a 9 blue/cpu=2,blue/memory=7",
        "cpu=3,memory=2",
        """
        WaitingForQuota a
        blue/cpu: request 3 > available 2 at a
        blue/memory: request 2 > available 1 at a
        a has 2 blue/cpu, 0 borrowed
        a has 7 blue/memory, 0 borrowed
        """,
        BOTH,
        CLASSICAL,
    ),
    # 2 x 2 = 4 > 4 - 1: with both sets 2 + 2 of red, and 1 is free of blue.
    "two pod sets that ask for the same are told once, with all they ask for": Story(
        """
        name parent within reclaim red/cpu
        a    -      lower  never   4
        """,
        "k a 9 red/cpu=1",
        "cpu=2+cpu=2",
        """
        WaitingForQuota a
        red/cpu: request 4 > available 3 at a
        a has 1 red/cpu, 0 borrowed
        """,
        RED,
    ),
    # Two of four pods would do: 4 > 4 - 1. Eight in all, of which there never are more than 4.
    "as few pods as would do are what counts": Story(
        ALONE,
        "k a 9 red/cpu=1\nl a 9 blue/cpu=2",
        "2-4xcpu=2",
        """
        WaitingForQuota a
        red/cpu: least request 4 > available 3 at a
        a has 1 red/cpu, 0 borrowed
        """,
        settings=CLASSICAL,
    ),
    # 4 x 2.
    "unless partial admission is off": Story(
        ALONE,
        "k a 9 red/cpu=1",
        "2-4xcpu=2",
        """
        ExceedsMaxQuota a
        red/cpu: request 8 > potential 4 at a
        """,
        settings=NO_PARTS,
    ),
    # One pod fits, though all four would not: 8 > 4.
    "nothing lacks where the fewest would fit": Story(
        ALONE,
        "",
        "1-4xcpu=2",
        """
        WaitingForQuota a
        """,
    ),
    # 2/2 lacks of red, of which m may be asked; of blue 1/2, of which k may not.
    "a flavor whose holders may be asked is nearer": Story(
        """
        name parent within reclaim red/cpu blue/cpu
        a    -      lower  never   4       4
        """,
        "m a 0 red/cpu=4\nk a 9 blue/cpu=3",
        "cpu=2",
        """
        WaitingForQuota a
        red/cpu: request 2 > available 0 at a
        a has 4 red/cpu, 0 borrowed
        """,
    ),
    "nothing lacks where others were merely first": Story(
        ALONE,
        "",
        "cpu=1",
        """
        WaitingForQuota a
        """,
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_workload_that_waits_is_told_why(name: str) -> None:
    story = STORIES[name]
    world = world_of(story)
    (head,) = world.heads
    reason = QuotaReasons(world.snapshot(), world.axes(), world.settings).of(head)
    assert told(reason) == [line.strip() for line in story.expected.strip().splitlines()]


def test_no_more_than_five_holders_are_told() -> None:
    teams = "".join(f"\n    t{at}   top    never  never   1" for at in range(6))
    held = "\n".join(f"w{at} t{at} 0 red/cpu={at % 3 + 1}" for at in range(6))
    world = world_of(Story(TWO_TEAMS.rstrip() + teams, held, "cpu=9", "", RED))
    (head,) = world.heads
    reason = QuotaReasons(world.snapshot(), world.axes(), world.settings).of(head)
    # Borrowed: 0 1 2 0 1 2; those who borrow as much stand by name.
    assert [each.queue for each in reason.held] == ["t2", "t5", "t1", "t4", "t0"]


def unmet(flavor: str, *conditions: tuple[str, Operator, tuple[str, ...]]) -> UnmetLabels:
    requirements = [LabelRequirement(key=k, operator=o, values=v) for k, o, v in conditions]
    return UnmetLabels(flavor=flavor, labels=(), unmet=tuple(requirements))


@pytest.mark.parametrize(
    ("mismatch", "name"),
    [
        (UnknownFlavor(flavor="red"), "red does not exist"),
        (
            UntoleratedTaint(
                flavor="red", taint=Taint(key="spot", value="yes", effect="NoSchedule")
            ),
            "red has the taint spot=yes:NoSchedule",
        ),
        (unmet("red", ("zone", "In", ("b",))), "red lacks zone=b"),
        (unmet("red", ("zone", "In", ("b", "c"))), "red lacks zone in (b, c)"),
        (unmet("red", ("zone", "NotIn", ("r",))), "red lacks zone not in (r)"),
        (unmet("red", ("zone", "Exists", ())), "red lacks zone"),
        (unmet("red", ("zone", "DoesNotExist", ())), "red lacks no zone"),
        (
            unmet("red", ("age", "Gt", ("3",)), ("size", "Lt", ("9",))),
            "red lacks age > 3 or size < 9",
        ),
    ],
)
def test_what_speaks_against_each_flavor_is_told(mismatch: FlavorMismatch, name: str) -> None:
    world = world_of(Story(ALONE, "", "cpu=9", ""))
    asked = (demand("cpu=1"), replace(demand("cpu=9"), flavors=[()]))
    head = PendingWorkload(WorkloadName("head"), QueueName("a"), 5, 0, asked)
    fine = Eligibility(flavors=("red", "blue"), mismatches=())
    none = Eligibility(flavors=(), mismatches=(mismatch, UnknownFlavor(flavor="blue")))
    reasons = QuotaReasons(world.snapshot(), world.axes(), FAIR)
    reason = reasons.of(head, ((fine,), (none,)))
    assert told(reason) == ["NoMatchingFlavor a", name, "blue does not exist"]
    # Without numbers of flavors there is nothing to tell but that none suits.
    bare = reasons.of(head)
    assert told(bare) == ["NoMatchingFlavor a"]


def test_flavors_that_do_not_suit_are_not_weighed() -> None:
    world = world_of(Story(ALONE, "", "cpu=9", ""))
    asked = (replace(demand("cpu=5"), flavors=[("blue",)]),)
    head = PendingWorkload(WorkloadName("head"), QueueName("a"), 5, 0, asked)
    reason = QuotaReasons(world.snapshot(), world.axes(), FAIR).of(head)
    # red would lack less: 5 - 4 < 5 - 2.
    assert told(reason) == ["ExceedsMaxQuota a", "blue/cpu: request 5 > potential 2 at a"]


@given(world=cycle_worlds())
def test_every_number_that_is_told_holds(world: CycleWorld) -> None:
    snapshot, axes = world.snapshot(), world.axes()
    reasons = QuotaReasons(snapshot, axes, world.settings)
    nominator = Nominator(snapshot, axes, world.settings)
    for head in world.heads:
        reason = reasons.of(head)
        assert all(each.holds() for each in reason.comparisons)
        for held in reason.held:
            number = axes.index(held.axis.resource, held.axis.flavor)
            assert number is not None
            assert held.amount == snapshot.tree.charged_on(held.queue, number) > 0
            (at,) = [each for each in reason.comparisons if each.axis == held.axis]
            assert at.queue in snapshot.path(held.queue)
        if not reason.comparisons:
            assert nominator.nominate(nominator.with_fewest_pods(head)).can_proceed()
        if reason.code == "ExceedsMaxQuota":
            assert not nominator.nominate(head).can_proceed()


@given(world=cycle_worlds())
def test_asking_changes_nothing(world: CycleWorld) -> None:
    snapshot, axes = world.snapshot(), world.axes()
    reasons = QuotaReasons(snapshot, axes, world.settings)
    before = [snapshot.tree.charged(name) for name in snapshot.parents]
    once = [reasons.of(head) for head in world.heads]
    assert [snapshot.tree.charged(name) for name in snapshot.parents] == before
    alone = [QuotaReasons(snapshot, axes, world.settings).of(head) for head in world.heads]
    assert once == alone


@given(world=cycle_worlds())
def test_trials_tell_how_the_flavors_that_are_taken_were_judged(world: CycleWorld) -> None:
    nominator = Nominator(world.snapshot(), world.axes(), world.settings)
    for head in world.heads:
        trials = nominator.try_flavors(head)
        assert all(_is_sound(trial) for trial in trials)
        nomination = nominator.nominate(head)
        assignment = nomination.assignment
        if nomination.counts != head.counts():
            continue
        if assignment is None:
            assert all(trial.fit.mode is AssignmentMode.NO_FIT for trial in trials)
            continue
        taken = [
            trial
            for trial in trials
            if assignment.flavors[trial.pod_set].get(trial.resource) == trial.flavor
        ]
        assert assignment.mode == min(trial.fit.mode for trial in taken)
        assert assignment.borrow == max(trial.fit.borrow for trial in taken)
        assert dict(assignment.usage) == {trial.fit.axis: trial.amount for trial in taken}


def _is_sound(trial: FlavorTrial) -> bool:
    if trial.amount > trial.potential:
        return trial.fit.mode is AssignmentMode.NO_FIT
    return (trial.fit.mode is AssignmentMode.FIT) == (trial.amount <= max(0, trial.available))


def test_trials_are_told_in_the_order_of_trying() -> None:
    try_all = FlavorFungibility(when_can_borrow="TryNextFlavor")
    world = replace(
        world_of(Story(LEFT_FROM_THE_START, "m a 0 red/cpu=3", "cpu=2+cpu=1", "")),
        fungibility=try_all,
    )
    nominator = Nominator(world.snapshot(), world.axes(), world.settings)
    trials = nominator.try_flavors(world.heads[0])
    shown = [(t.pod_set, t.flavor, t.amount, t.available, t.fit.mode.name) for t in trials]
    # red: 4 - 3 = 1 < 2, so m would have to go; blue has room, and 2 + 1 = 3 too. 1 of red fits.
    assert shown == [
        (0, "red", 2, 1, "PREEMPT"),
        (0, "blue", 2, 4, "FIT"),
        (1, "red", 1, 1, "FIT"),
    ]
