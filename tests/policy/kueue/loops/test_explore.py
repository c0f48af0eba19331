"""The explorer itself: it sees what whole plans say, and counts the same however it is run."""

from collections.abc import Iterator, Sequence

import pytest
from click.testing import CliRunner

from fairlead.model.plan import Decision, LeftPending, Plan, Start
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.changes import changes_of
from tests.policy.kueue.loops import __main__ as command
from tests.policy.kueue.loops import explore as exploring
from tests.policy.kueue.loops.complete_world import COMPLETE, complete_world
from tests.policy.kueue.loops.explore import Found, explore, explore_all
from tests.policy.kueue.loops.follow import (
    FAITHFUL,
    MODES,
    OWN,
    AssignmentMode,
    follow,
    settings_in,
)
from tests.policy.kueue.loops.random_world import random_world
from tests.policy.kueue.loops.small_world import SmallWorld
from tests.policy.kueue.plan_world import NOW_MS, told

SHORTEST = 9165  # of the complete worlds, the first that loops in the fewest plans


@pytest.mark.parametrize("mode", MODES)
def test_plans_without_waits_are_the_plans(mode: AssignmentMode) -> None:
    for number in range(60):
        world = random_world(number)
        state = follow(world, mode).state
        policy = KueuePolicy(settings_in(mode, world.settings))
        whole = [
            each
            for each in policy.plan(state, NOW_MS).decisions
            if not isinstance(each, LeftPending)
        ]
        assert changes_of(policy, state, NOW_MS) == whole


def test_no_two_worlds_of_the_complete_ones_are_the_same() -> None:
    numbers = range(0, COMPLETE, 7)
    assert len({complete_world(number).told() for number in numbers}) == len(numbers)
    with pytest.raises(IndexError, match=str(COMPLETE)):
        complete_world(COMPLETE)


def test_the_worlds_of_chance_have_everything_in_them() -> None:
    worlds = [random_world(number) for number in range(400)]
    seen = {
        (column, cell)
        for world in worlds
        for row in (*world.queues, *world.workloads)
        for column, cell in row.items()
    }
    assert {("weight", "0"), ("weight", "0.5"), ("borrow", "1"), ("lend", "0")} <= seen
    assert {("strategy", "StrictFIFO"), ("reclaim", "LowerPriority"), ("lingers", "2")} <= seen
    assert {("within", "LowerOrNewerEqualPriority"), ("borrowWithin", "LowerPriority<=0")} <= seen
    assert {("flavors", "red"), ("flavors", "red,blue"), ("flavors", "blue,red")} <= seen
    assert {("whenBorrow", "TryNextFlavor"), ("whenPreempt", "MayStopSearch")} <= seen
    assert {("preference", "PreemptionOverBorrowing"), ("kind", "blue")} <= seen
    assert {("asks", "4"), ("asks", "2+2"), ("asks", "1-2x1"), ("asks", "1+1-2x1")} <= seen
    assert {world.groups for world in worlds} >= {"gpu:any", "gpu:red,blue", "cpu,gpu:red,blue"}
    assert {world.settings.fair_sharing for world in worlds} == {False, True}
    assert {row["parent"] for world in worlds for row in world.queues} == {
        "-",
        "ROOT",
        "LEFT",
        "RIGHT",
    }


@pytest.mark.exhaustive
def test_keeping_the_room_ends_most_loops_and_the_option_the_others() -> None:
    some = range(2400, 2900)  # 2582 goes on for ever also if the room is kept
    faithful, own, none = (explore("random", some, mode=mode).loops for mode in MODES)
    assert faithful > own > none == 0


def test_some_loops_need_a_nudge_in_kueue() -> None:
    """When r has left, w wants red first: 2 - 1 = 1 < 2 for its second pod. So r is back.

    Kueue would not look at w again before another workload has left; a plan does.
    """
    fickle = SmallWorld(
        KueueSettings(),
        ({"name": "q", "parent": "-", "quota": "2,1", "within": "LowerPriority"},),
        (
            {"name": "r", "queue": "q", "asks": "2"},
            {"name": "w", "queue": "q", "asks": "1+2", "priority": "5", "arrives": "1"},
        ),
        groups="gpu:red,blue",
    )
    progress = follow(fickle, FAITHFUL)
    assert [told(Plan(taken_ms=0, decisions=tuple(plan))) for plan in progress.loop()] == [
        ["evict r for w: InClusterQueue", "reserve w until r left"],
        ["start r"],
    ]
    assert progress.needs_a_nudge()
    assert not follow(complete_world(SHORTEST), FAITHFUL).needs_a_nudge()
    assert not follow(fickle, OWN).needs_a_nudge()


def test_who_takes_its_time_to_leave_stays_for_as_many_plans() -> None:
    """w0 is evicted in the second plan and stays for two more: w2 starts in the fifth."""
    world = complete_world(SHORTEST)
    slow = tuple({**row, "lingers": "2"} for row in world.workloads)
    prompt = follow(world, OWN)
    late = follow(world._replace(workloads=slow), OWN)
    starts = [
        [number for number, plan in enumerate(progress.plans) if "w2" in _started(plan)]
        for progress in (prompt, late)
    ]
    assert starts == [[2], [4]]


@pytest.mark.exhaustive
def test_two_processes_find_what_one_finds() -> None:
    numbers = range(700)
    alone = sum(explore_all("random", numbers, mode=FAITHFUL, jobs=1), start=Found())
    both = sum(explore_all("random", numbers, mode=FAITHFUL, jobs=2), start=Found())
    assert alone == both == explore("random", numbers, mode=FAITHFUL)


def test_the_shortest_loop_is_told_as_a_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "COMPLETE", SHORTEST + 1)
    said = CliRunner().invoke(
        command.main, ["--complete", "--mode", "faithful", "--seed", str(SHORTEST)]
    )
    assert said.exit_code == 0
    assert said.output.endswith(
        """
plan 1   start w0
plan 2   evict w0 for w2: InCohortFairSharing
         reserve w2 until w0 left
plan 3   start w0
         evict w0 for w2: InCohortFairSharing
         reserve w2 until w0 left
and again from plan 3
"""
    )


def test_a_loop_where_there_should_be_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "follow", lambda world, _: follow(world, FAITHFUL))
    monkeypatch.setattr(command, "COMPLETE", SHORTEST + 1)
    said = CliRunner().invoke(command.main, ["--complete", "--seed", str(SHORTEST)])
    assert said.exit_code == 1
    assert "1 loop" in said.output


def test_a_loop_in_our_own_mode_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It only keeps the room, which is no cure for all loops."""
    monkeypatch.setattr(exploring, "follow", lambda world, _: follow(world, FAITHFUL))
    monkeypatch.setattr(command, "COMPLETE", SHORTEST + 1)
    arguments = ["--complete", "--seed", str(SHORTEST), "--mode", "own"]
    said = CliRunner().invoke(command.main, arguments)
    assert (said.exit_code, "1 loop" in said.output) == (0, True)


def test_who_interrupts_is_told_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Iterator[Found]:
        yield Found(worlds=500)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "explore_all", interrupted)
    said = CliRunner().invoke(command.main, ["--worlds", "2000", "--seed", "100"])
    assert "go on with --seed 600 --worlds 1500" in said.output
    assert "500 worlds" in said.output
    assert said.exit_code == 130


def _started(plan: Sequence[Decision]) -> list[str]:
    return [each.workload for each in plan if isinstance(each, Start)]
