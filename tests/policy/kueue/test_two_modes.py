"""How a cycle in our own mode differs from one of Kueue's, whatever the cluster."""

from hypothesis import given, settings

from fairlead.policy.kueue.kept_promises import cycle_that_keeps_promises
from tests.policy.kueue.cycle_world import CycleWorld, cycle_worlds


@settings(max_examples=200)
@given(cycle_worlds())
def test_a_cycle_without_promises_is_kueues_but_that_nobody_starts_in_the_room_of_who_is_there(
    world: CycleWorld,
) -> None:
    """Kueue admits who fits without those who are told to leave in the same cycle, at once."""
    snapshot, axes = world.snapshot(), world.axes()
    kept = cycle_that_keeps_promises(snapshot, axes, world.settings, world.heads, {}, {})
    now, is_anybody_told = world.snapshot(), False
    for turn, kueues in zip(kept, world.turns(), strict=True):
        assert turn.nomination == kueues.nomination
        queue, usage = turn.nomination.waiting.queue, kueues.kept
        if kueues.outcome == "admitted" and not now.fits(queue, usage):
            assert is_anybody_told
            assert turn.outcome == "preempting"
            continue
        assert turn == kueues
        is_anybody_told |= bool(turn.targets)
        if turn.outcome == "admitted":
            now.charge(queue, usage)
