"""Which evictions may stand for the sake of a job of another queue, and by which rule."""

import pytest

from fairlead.model.axes import QueueName
from fairlead.policy.kai.reclaimable import Verdict
from tests.policy.kai.plain_reclaim import plain_verdict
from tests.policy.kai.reclaim_world import judge_of, judged, told_world

# Amounts are cpu+gpu. What the story is and the answer, then the queues. A queue may hold the
# larger of quota and fair share, but not more than its limit.
SCENARIOS = {
    # b holds 6 of gpu and may hold 4
    "what is over its fair share may be taken": (
        "a takes 0+2 from b 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+2   0+4  0+2
        b     -      0+2   0+4  0+6
        """,
    ),
    # b holds 4 and may hold 4; a would hold 2 + 2 > 2, its quota
    "what is within it may not": (
        "a takes 0+2 from b 0+2",
        "loss a b",
        """
        queue parent quota fair holds
        a     -      0+2   0+4  0+2
        b     -      0+2   0+4  0+4
        """,
    ),
    # the first leaves 6 - 2 = 4, which is what b may hold
    "each loss sees what those before it left": (
        "a takes 0+2 from b 0+2, b 0+1",
        "loss a b",
        """
        queue parent quota fair holds
        a     -      0+2   0+4  0+2
        b     -      0+2   0+4  0+6
        """,
    ),
    # the first leaves 6 - 1 = 5 > 4, so the second is allowed, and may leave less than 4
    "a small loss before a big one passes where the reverse does not": (
        "a takes 0+2 from b 0+1, b 0+2",
        "stands fairShare fairShare",
        """
        queue parent quota fair holds
        a     -      0+2   0+4  0+2
        b     -      0+2   0+4  0+6
        """,
    ),
    # b may hold 4 of gpu and does, but holds 3 of cpu where it may hold 2
    "one resource over is enough, whichever is taken": (
        "a takes 0+1 from b 0+1",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+2
        b     -      0+0   2+4  3+4
        """,
    ),
    # b may hold max(5, 3) = 5 and holds it, but its limit is 4
    "the limit bounds what may be held": (
        "a takes 0+1 from b 0+1",
        "stands fairShare",
        """
        queue parent quota limit fair holds
        a     -      0+0   -+-   0+4  0+2
        b     -      0+5   -+4   0+3  0+5
        """,
    ),
    # b is guaranteed everything and has no limit: 90 is not over
    "an unlimited guarantee is never over": (
        "a takes 0+1 from b 0+1",
        "loss a b",
        """
        queue parent quota fair holds
        a     -      0+9   0+9  0+2
        b     -      0+-   0+4  0+90
        """,
    ),
    # b is within its share, 4 = 4, and over its quota, 4 > 2; a stays within its own, 1 + 2 = 3
    "quota is given back although the victim is within its fair share": (
        "a takes 0+2 from b 0+2",
        "stands quota",
        """
        queue parent quota fair holds
        a     -      0+3   0+3  0+1
        b     -      0+2   0+4  0+4
        """,
    ),
    # the first by fair share, 5 > 4; the second by quota, 5 - 1 = 4 > 2
    "losses of one victim may be allowed differently": (
        "a takes 0+2 from b 0+1, b 0+1",
        "stands fairShare quota",
        """
        queue parent quota fair holds
        a     -      0+3   0+3  0+1
        b     -      0+2   0+4  0+5
        """,
    ),
    # a would hold 5 + 0 > 4 of cpu, which it does not ask for
    "a reclaimer over quota in anything has no claim by quota": (
        "a takes 0+2 from b 0+2",
        "loss a b",
        """
        queue parent quota fair holds
        a     -      4+3   9+3  5+1
        b     -      0+2   0+4  0+4
        """,
    ),
    # Compared are the departments: x holds 8 > 6. That x2 is within its own is no matter.
    "the sides of strangers are their queues on the top level": (
        "y1 takes 0+2 from x2 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds
        x     -      0+0   0+6  0+8
        x1    x      0+0   0+3  0+6
        x2    x      0+0   0+3  0+2
        y     -      0+0   0+6  0+4
        y1    y      0+0   0+6  0+4
        """,
    ),
    # x is within its share, 6 = 6, though x1 has 5 > 3; y would hold 4 + 2 > 0
    "a department within its share protects a queue that is over": (
        "y1 takes 0+2 from x1 0+2",
        "loss y x",
        """
        queue parent quota fair holds
        x     -      0+0   0+6  0+6
        x1    x      0+0   0+3  0+5
        x2    x      0+0   0+3  0+1
        y     -      0+0   0+6  0+4
        y1    y      0+0   0+6  0+4
        """,
    ),
    # inside x the queues themselves are compared: x1 has 5 > 3
    "and not against its own department": (
        "x2 takes 0+2 from x1 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds
        x     -      0+0   0+6  0+6
        x1    x      0+0   0+3  0+5
        x2    x      0+0   0+3  0+1
        """,
    ),
    # t meets x2 below x, as x1: 2 + 1 = 3, its quota, and x2 has 4 > 1. That of t is no matter
    "the lowest common queue may be deep": (
        "t takes 0+1 from x2 0+1",
        "stands quota",
        """
        queue parent quota fair holds
        d     -      0+0   0+6  0+6
        x     d      0+0   0+6  0+6
        x1    x      0+3   0+3  0+2
        x2    x      0+1   0+4  0+4
        t     x1     0+0   0+3  0+2
        """,
    ),
    # y: 4 + 1 = 5 <= 5 as the search began; that x lost 2 before changes nothing for z, 4 > 2
    "quota looks at the reclaimer as the search began": (
        "y1 takes 0+1 from x 0+2, z 0+1",
        "stands fairShare quota",
        """
        queue parent quota fair holds
        x     -      0+0   0+6  0+8
        y     -      0+5   0+5  0+4
        y1    y      0+5   0+5  0+4
        z     -      0+2   0+4  0+4
        """,
    ),
    # y: 5 + 1 > 5, and that y2 lost 3 before does not help: y is not asked for what it has left
    "what the reclaimer's side lost does not make room in its quota": (
        "y1 takes 0+1 from y2 0+3, z 0+1",
        "loss y z",
        """
        queue parent quota fair holds
        y     -      0+5   0+5  0+5
        y1    y      0+5   0+5  0+1
        y2    y      0+0   0+1  0+4
        z     -      0+2   0+4  0+4
        """,
    ),
    # a ends at (4 + 2) / 4 = 1.5, b at (8 - 2) / 4 = 1.5: a is no less full
    "who ends above its share must end less full": (
        "a takes 0+2 from b 0+2",
        "saturation a b gpu",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+4
        b     -      0+0   0+4  0+8
        """,
    ),
    # a ends at 6 / 4 = 1.5, b at 7 / 4
    "as here": (
        "a takes 0+2 from b 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+4
        b     -      0+0   0+4  0+9
        """,
    ),
    # a ends at 1.5, times 7/6 are 1.75 >= 7 / 4
    "the multiplier makes the reclaimer fuller": (
        "a takes 0+2 from b 0+2 x 7/6",
        "saturation a b gpu",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+4
        b     -      0+0   0+4  0+9
        """,
    ),
    # a ends at 1.5, times 8/7 are 1.714... < 1.75
    "and is exact": (
        "a takes 0+2 from b 0+2 x 8/7",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+4
        b     -      0+0   0+4  0+9
        """,
    ),
    # a ends at 4 / 4 = 1, not above; b ends at 1 / 4
    "who ends within its share may end fuller than the victim": (
        "a takes 0+2 from b 0+5 x 2",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+2
        b     -      0+0   0+4  0+6
        """,
    ),
    # a holds something where nothing is due to it: infinitely full, b at 5 / 1
    "no share at all is infinitely full": (
        "a takes 0+1 from b 0+1",
        "saturation a b gpu",
        """
        queue parent quota fair holds
        a     -      0+0   0+0  0+0
        b     -      0+0   0+1  0+6
        """,
    ),
    # nothing is due to b either
    "a victim without a share is not compared": (
        "a takes 0+1 from b 0+1",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   0+0  0+0
        b     -      0+0   0+0  0+6
        """,
    ),
    # cpu: a ends at 5 / 2 and b at 1 / 2, but nobody asks for cpu and nobody loses any
    "what is neither asked for nor lost is not compared": (
        "a takes 0+1 from b 0+1",
        "stands fairShare",
        """
        queue parent quota fair holds
        a     -      0+0   2+4  5+1
        b     -      0+0   2+4  1+6
        """,
    ),
    # now b loses 1 of cpu on the way: a 5 / 2 > 1 and >= 0 / 2
    "what the victim loses beside is": (
        "a takes 0+1 from b 1+1",
        "saturation a b cpu",
        """
        queue parent quota fair holds
        a     -      0+0   2+4  5+1
        b     -      0+0   2+4  1+6
        """,
    ),
    # and what a asks for, though b loses none of it: a (5 + 1) / 2, b 1 / 2
    "and what the reclaimer asks for": (
        "a takes 1+1 from b 0+1",
        "saturation a b cpu",
        """
        queue parent quota fair holds
        a     -      0+0   2+4  5+1
        b     -      0+0   2+4  1+6
        """,
    ),
    # y ends at (6 + 2) / 4 = 2, x at (8 - 1) / 4; below y the leaf has 1 + 2 <= 4
    "saturation is asked at the sides": (
        "y1 takes 0+2 from x1 0+1",
        "saturation y x gpu",
        """
        queue parent quota fair holds
        x     -      0+0   0+4  0+8
        x1    x      0+0   0+4  0+8
        y     -      0+0   0+4  0+6
        y1    y      0+0   0+4  0+1
        """,
    ),
    # y loses 4 by y2: (6 - 4 + 2) / 4 = 1, not above
    "what the reclaimer's side lost itself makes room there": (
        "y1 takes 0+2 from y2 0+4, x1 0+1",
        "stands fairShare fairShare",
        """
        queue parent quota fair holds
        x     -      0+0   0+4  0+8
        x1    x      0+0   0+4  0+8
        y     -      0+0   0+4  0+6
        y1    y      0+0   0+4  0+1
        y2    y      0+0   0+1  0+5
        """,
    ),
    # the same in the other order
    "whichever loss comes first": (
        "y1 takes 0+2 from x1 0+1, y2 0+4",
        "stands fairShare fairShare",
        """
        queue parent quota fair holds
        x     -      0+0   0+4  0+8
        x1    x      0+0   0+4  0+8
        y     -      0+0   0+4  0+6
        y1    y      0+0   0+4  0+1
        y2    y      0+0   0+1  0+5
        """,
    ),
    # y would end at (6 + 2) / 4, but only y2 loses something, and that is inside y: below it
    # y1 ends at (1 + 2) / 4
    "a sibling that lost nothing is not compared": (
        "y1 takes 0+2 from y2 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds
        x     -      0+0   0+4  0+4
        y     -      0+0   0+2  0+6
        y1    y      0+0   0+4  0+1
        y2    y      0+0   0+1  0+5
        """,
    ),
    # of c only 9 - 1 = 8 of 4 are left: 2 > 1.5. But b has 6 / 4 = 1.5
    "every victim's side must end fuller": (
        "a takes 0+2 from c 0+1, b 0+1",
        "saturation a b gpu",
        """
        queue parent quota fair holds
        a     -      0+0   0+4  0+4
        b     -      0+0   0+4  0+7
        c     -      0+0   0+4  0+9
        """,
    ),
    # a ends at (2F + 1) / F, b at (2F + 2) / F, which no float tells apart
    "what is nearly equally full is not equally full": (
        "a takes 0+1 from b 0+1",
        "stands fairShare",
        """
        queue parent quota fair                 holds
        a     -      0+0   0+100000000000000000 0+200000000000000000
        b     -      0+0   0+100000000000000000 0+200000000000000003
        """,
    ),
    # Both are no fuller: y has (8 - 1 + 2) / 4 and x (9 - 1) / 4 = 2; below, y1 has (4 + 2) / 4
    # and y2 (4 - 1) / 2, both 1.5
    "the lowest level is told, whoever lost first": (
        "y1 takes 0+2 from x 0+1, y2 0+1",
        "saturation y1 y2 gpu",
        """
        queue parent quota fair holds
        x     -      0+0   0+4  0+9
        y     -      0+0   0+4  0+8
        y1    y      0+0   0+4  0+4
        y2    y      0+0   0+2  0+4
        """,
    ),
    # 1 + 2 = 3 at the queue, 2 + 2 = 4 above
    "what cannot be preempted may fill the quota all the way up": (
        "y1 takes 0+2 fixed from x 0+2",
        "stands fairShare",
        """
        queue parent quota fair holds fixed
        x     -      0+0   0+4  0+8   0+0
        y     -      0+4   0+4  0+2   0+2
        y1    y      0+3   0+4  0+2   0+1
        """,
    ),
    # 3 + 2 > 4 above
    "and is refused where a queue above has too little": (
        "y1 takes 0+2 fixed from x 0+2",
        "guarantee y gpu",
        """
        queue parent quota fair holds fixed
        x     -      0+0   0+4  0+8   0+0
        y     -      0+4   0+4  0+2   0+3
        y1    y      0+3   0+4  0+2   0+1
        """,
    ),
    # 2 + 0 > 1 of cpu above
    "also of what it does not ask for": (
        "y1 takes 0+2 fixed from x 0+2",
        "guarantee y cpu",
        """
        queue parent quota fair holds fixed
        x     -      0+0   0+4  0+8   0+0
        y     -      1+4   4+4  2+2   2+2
        y1    y      1+3   4+4  0+2   0+1
        """,
    ),
    # the loss would be refused as well: x holds 4 = 4, and y 2 + 2 > 3
    "no set helps against the guarantee, so it is asked first": (
        "y1 takes 0+2 fixed from x 0+2",
        "guarantee y gpu",
        """
        queue parent quota fair holds fixed
        x     -      0+0   0+4  0+4   0+0
        y     -      0+3   0+4  0+2   0+2
        y1    y      0+3   0+4  0+2   0+1
        """,
    ),
}


@pytest.mark.parametrize(("story", "answer", "table"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_a_set_of_losses(story: str, answer: str, table: str) -> None:
    world = told_world(story, table)
    assert judged(world) == answer
    assert plain_verdict(world) == answer


def test_a_refused_set_has_what_allowed_the_losses_before() -> None:
    _, _, table = SCENARIOS["each loss sees what those before it left"]
    world = told_world("a takes 0+2 from b 0+2, b 0+1", table)
    assert judge_of(world).judge(world.losses).strategies == ("fairShare",)


def test_no_loss_at_all_stands() -> None:
    """A side can only be too full against one that lost something."""
    _, _, table = SCENARIOS["who ends above its share must end less full"]
    world = told_world("a takes 0+2 from b 0+2", table)
    assert judge_of(world).judge([]) == Verdict()


def test_what_queues_held_when_the_search_began_counts() -> None:
    _, _, table = SCENARIOS["what is over its fair share may be taken"]
    world = told_world("a takes 0+2 from b 0+2", table)
    judge = judge_of(world)
    judge.state.sums[QueueName("b")].allocated[:] = (0, 0)
    assert judge.judge(world.losses).stands


@pytest.mark.parametrize("loser", ["y", "y1", "y11"])
def test_a_victim_on_the_path_of_the_reclaimer_is_a_mistake_of_the_caller(loser: str) -> None:
    world = told_world(
        f"y1 takes 0+1 from {loser} 0+1",
        """
        queue parent quota fair holds
        y     -      0+0   0+0  0+4
        y1    y      0+0   0+0  0+4
        y11   y1     0+0   0+0  0+4
        """,
    )
    judge = judge_of(world)
    with pytest.raises(AssertionError):
        judge.judge(world.losses)
