"""By what right a workload gets quota: stories with their arithmetic, then a law."""

import pytest
from hypothesis import given

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.reasons.decisions import admit_reason
from tests.policy.kueue.cycle_world import CycleWorld, cycle_worlds, read_world
from tests.policy.kueue.told_reason import told

QUEUES = """
    name parent within reclaim red/cpu   red/memory
    top  -      -      -       2         0
    a    top    never  never   4:borrow3 8
    b    top    never  never   3         8
"""
HELD = "name queue priority uses\n"
HEADS = "name queue priority asks\nhead a 5 cpu=1"

STORIES = {
    # 3 + 1 = 4; 0 + 8 = 8.
    "within its own quota to the last": (
        "k a 0 red/cpu=3",
        ((0, 1), (1, 8)),
        [
            "WithinQuota a",
            "red/cpu: allocated 3 + request 1 <= quota 4 at a",
            "red/memory: allocated 0 + request 8 <= quota 8 at a",
        ],
    ),
    # 3 + 3 = 6 > 4, and 4 + 3 - 3 = 4 may be had. The memory is within the quota, which tells less.
    "beyond its quota, up to its own limit": (
        "k a 0 red/cpu=3",
        ((0, 3), (1, 8)),
        [
            "OverQuota a",
            "red/cpu: allocated 3 + request 3 > quota 4 at a",
            "red/cpu: request 3 <= available 4 at a",
        ],
    ),
    # 9 - 3 - 4 = 2.
    "beyond its quota, as far as others leave it": (
        "k a 0 red/cpu=3\nl b 0 red/cpu=4",
        ((0, 2),),
        [
            "OverQuota a",
            "red/cpu: allocated 3 + request 2 > quota 4 at a",
            "red/cpu: request 2 <= available 2 at top",
        ],
    ),
    "beyond its quota, once others have left": (
        "k a 0 red/cpu=3\nl b 0 red/cpu=6",
        ((0, 2),),
        [
            "OverQuota a",
            "red/cpu: allocated 3 + request 2 > quota 4 at a",
            "red/cpu: request 2 > available 0 at top",
        ],
    ),
    "nothing is asked for": ("", (), ["WithinQuota a"]),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_workload_is_told_by_what_right_it_has_quota(story: str) -> None:
    held, usage, expected = STORIES[story]
    world = read_world("red: cpu memory", QUEUES, HELD + held if held else "", HEADS)
    reason = admit_reason(world.snapshot().tree, world.axes(), QueueName("a"), usage)
    assert told(reason) == expected


@given(world=cycle_worlds())
def test_every_number_that_is_told_holds(world: CycleWorld) -> None:
    snapshot, axes = world.snapshot(), world.axes()
    for nomination in world.nominations():
        if nomination.assignment is None:
            continue
        queue, usage = nomination.pending.queue, nomination.assignment.usage
        reason = admit_reason(snapshot.tree, axes, queue, usage)
        assert all(each.holds() for each in reason.comparisons)
        snapshot.charge(queue, usage)
        numbers = [number for number, _ in usage]
        assert (reason.code == "OverQuota") == snapshot.tree.borrows_any(queue, numbers)
        snapshot.discharge(queue, usage)
