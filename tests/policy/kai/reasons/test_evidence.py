"""The numbers of a verdict are those that were compared, and bear it out."""

from fractions import Fraction
from operator import add, sub

from hypothesis import given

from fairlead.model.axes import Axis, QueueName
from fairlead.model.plan import Comparison, SideNumbers, Term
from fairlead.policy.kai.reasons.evidence import (
    LossEvidence,
    VerdictEvidence,
    explain_verdict,
)
from fairlead.policy.kai.reclaimable import Loss
from tests.policy.kai.reclaim_world import World, judge_of, told_world, worlds

A, B, Y, Z = (QueueName(name) for name in "abyz")
CPU, GPU = Axis("cpu"), Axis("gpu")


def explained(world: World) -> VerdictEvidence:
    judge = judge_of(world)
    return explain_verdict(judge, world.losses, judge.judge(world.losses))


def told(comparisons: tuple[Comparison, ...]) -> list[str]:
    """Write comparisons down: ``b gpu: allocated 6 > allocatable 4``."""

    def term(each: Term) -> str:
        owner = f" of {each.queue}" if each.queue else ""
        return f"{each.name}{owner} {'-' if each.amount is None else each.amount}"

    return [
        f"{each.queue} {each.axis}: {' + '.join(map(term, each.left))} "
        f"{each.relation} {term(each.right)}"
        for each in comparisons
    ]


def test_a_loss_by_fair_share_tells_both_sides_before_and_after() -> None:
    """The numbers are b: 6 - 2 = 4 of 4; a: 1 + 2 = 3 of 4; of cpu nobody has a share."""
    world = told_world(
        "a takes 0+2 from b 0+2",
        """
        queue parent quota limit fair holds
        a     -      0+2   -+-   0+4  0+1
        b     -      0+2   -+9   0+4  0+6
        """,
    )
    none, all_of_it = Fraction(0), Fraction(1)
    evidence = explained(world)
    assert evidence.refusal is None
    assert evidence.losses == (
        LossEvidence(
            loss=Loss(B, (0, 2)),
            strategy="fairShare",
            reclaimer=SideNumbers(
                queue=A,
                axes=(CPU, GPU),
                guaranteed=(0, 2),
                fair_share=(0, 4),
                allocatable=(0, 4),
                allocated_before=(0, 1),
                allocated_after=(0, 3),
                saturation_before=(none, Fraction(1, 4)),
                saturation_after=(none, Fraction(3, 4)),
            ),
            victim=SideNumbers(
                queue=B,
                axes=(CPU, GPU),
                guaranteed=(0, 2),
                fair_share=(0, 4),
                allocatable=(0, 4),
                allocated_before=(0, 6),
                allocated_after=(0, 4),
                saturation_before=(none, Fraction(3, 2)),
                saturation_after=(none, all_of_it),
            ),
            comparisons=(
                Comparison(
                    queue=B,
                    axis=GPU,
                    left=(Term("allocated", 6),),
                    relation=">",
                    right=Term("allocatable", 4),
                ),
            ),
        ),
    )


def test_a_loss_by_quota_tells_that_one_is_within_and_the_other_beyond() -> None:
    world = told_world(
        "a takes 0+2 from b 0+2",
        """
        queue parent quota fair holds
        a     -      -+3   0+3  0+1
        b     -      0+2   0+4  0+4
        """,
    )
    (loss,) = explained(world).losses
    assert loss.strategy == "quota"
    assert told(loss.comparisons) == [
        "a cpu: allocated 0 + request 0 <= quota -",
        "a gpu: allocated 1 + request 2 <= quota 3",
        "b gpu: allocated 4 > quota 2",
    ]


def test_in_a_hierarchy_the_sides_are_reported_as_the_losses_go_on() -> None:
    """First y2 gives to y1 inside y, then z to y: y has 6 - 3 + 2 = 5 after either."""
    world = told_world(
        "y1 takes 0+2 from y2 0+3, z1 0+1",
        """
        queue parent quota fair holds
        y     -      0+9   0+5  0+6
        y1    y      0+0   0+4  0+1
        y2    y      0+0   0+1  0+5
        z     -      0+2   0+4  0+4
        z1    z      0+0   0+9  0+4
        """,
    )
    inside, outside = explained(world).losses
    assert (inside.reclaimer.queue, inside.victim.queue) == ("y1", "y2")
    assert (inside.reclaimer.allocated_after, inside.victim.allocated_after) == ((0, 3), (0, 2))
    assert (outside.reclaimer.queue, outside.victim.queue) == (Y, Z)
    assert outside.reclaimer.allocated_before == (0, 6)
    assert outside.reclaimer.allocated_after == (0, 5)
    assert (outside.victim.allocated_before, outside.victim.allocated_after) == ((0, 4), (0, 3))


def test_a_refused_loss_tells_why_neither_strategy_allows_it() -> None:
    """The first leaves 5 - 1 = 4, all that b may hold; a would leave its quota, 2 + 2 > 3."""
    world = told_world(
        "a takes 0+2 from b 0+1, b 0+1",
        """
        queue parent quota fair holds
        a     -      0+3   0+4  0+2
        b     -      0+2   0+4  0+5
        """,
    )
    evidence = explained(world)
    assert [each.strategy for each in evidence.losses] == ["fairShare"]
    refusal = evidence.refusal
    assert refusal is not None
    assert (refusal.rule, refusal.queues) == ("loss", (A, B))
    assert told(refusal.comparisons) == [
        "b cpu: allocated 0 <= allocatable 0",
        "b gpu: allocated 4 <= allocatable 4",
        "a gpu: allocated 2 + request 2 > quota 3",
    ]
    assert [side.allocated_before for side in refusal.sides] == [(0, 2), (0, 4)]
    assert [side.allocated_after for side in refusal.sides] == [(0, 4), (0, 3)]


def test_a_victim_within_its_quota_is_reported_too() -> None:
    world = told_world(
        "a takes 0+2 from b 0+1",
        """
        queue parent quota fair holds
        a     -      0+9   0+4  0+2
        b     -      0+4   0+4  0+4
        """,
    )
    refusal = explained(world).refusal
    assert refusal is not None
    assert told(refusal.comparisons) == [
        "b cpu: allocated 0 <= allocatable 0",
        "b gpu: allocated 4 <= allocatable 4",
        "b cpu: allocated 0 <= quota 0",
        "b gpu: allocated 4 <= quota 4",
    ]


SATURATED = """
    queue parent quota fair holds
    a     -      0+0   0+4  0+4
    b     -      0+0   0+4  0+9
"""


def test_a_refusal_by_saturation_tells_how_full_both_would_be() -> None:
    """The numbers are a: 4 + 3 = 7 of 4; b: 9 - 2 = 7 of 4."""
    refusal = explained(told_world("a takes 0+3 from b 0+2", SATURATED)).refusal
    assert refusal is not None
    assert (refusal.rule, refusal.queues) == ("saturation", (A, B))
    assert told(refusal.comparisons) == [
        "a gpu: allocated after 7 > fair share 4",
        "a gpu: saturation of a 1.75 >= saturation of b 1.75",
    ]
    assert [side.allocated_before for side in refusal.sides] == [(0, 4), (0, 9)]
    assert [side.allocated_after for side in refusal.sides] == [(0, 7), (0, 7)]
    assert [side.saturation_after[1] for side in refusal.sides] == [Fraction(7, 4)] * 2


def test_a_multiplier_that_counted_is_reported() -> None:
    """The numbers are a: 6 / 4 x 3 / 2 = 2.25; b: 7 / 4."""
    refusal = explained(told_world("a takes 0+2 from b 0+2 x 3/2", SATURATED)).refusal
    assert refusal is not None
    assert told(refusal.comparisons) == [
        "a gpu: allocated after 6 > fair share 4",
        "a gpu: saturation x multiplier of a 2.25 >= saturation of b 1.75",
    ]


def test_a_side_without_a_share_is_reported_as_infinitely_full() -> None:
    world = told_world(
        "a takes 0+1 from b 0+1",
        """
        queue parent quota fair holds
        a     -      0+0   0+0  0+0
        b     -      0+0   0+1  0+6
        """,
    )
    refusal = explained(world).refusal
    assert refusal is not None
    assert told(refusal.comparisons) == [
        "a gpu: allocated after 1 > fair share 0",
        "a gpu: saturation of a - >= saturation of b 5.0",
    ]


def test_a_refusal_by_the_guarantee_tells_the_queue_that_has_too_little() -> None:
    world = told_world(
        "y1 takes 0+2 fixed from x 0+2",
        """
        queue parent quota fair holds fixed
        x     -      0+0   0+4  0+8   0+0
        y     -      1+4   4+4  2+2   2+3
        y1    y      1+3   4+4  0+2   0+1
        """,
    )
    evidence = explained(world)
    assert evidence.losses == ()
    refusal = evidence.refusal
    assert refusal is not None
    assert (refusal.rule, refusal.queues, refusal.sides) == ("guarantee", (Y,), ())
    assert told(refusal.comparisons) == [
        "y cpu: non-preemptible 2 + request 0 > quota 1",
        "y gpu: non-preemptible 3 + request 2 > quota 4",
    ]


@given(worlds())
def test_every_comparison_holds_and_none_is_missing(world: World) -> None:
    judge = judge_of(world)
    verdict = judge.judge(world.losses)
    evidence = explain_verdict(judge, world.losses, verdict)
    refusal = evidence.refusal
    assert tuple(each.strategy for each in evidence.losses) == verdict.strategies
    assert (refusal.rule if refusal else None) == verdict.refused_by
    told_of = [each.comparisons for each in evidence.losses]
    told_of += [refusal.comparisons] if refusal else []
    assert all(told_of)
    assert all(each.holds() for comparisons in told_of for each in comparisons)


@given(worlds())
def test_the_amounts_of_a_victims_side_follow_from_its_losses(world: World) -> None:
    judge = judge_of(world)
    held = {name: tuple(amounts) for name, amounts in judge.allocated.items()}
    for each in explained(world).losses:
        side = each.victim
        assert side.queue == judge.sides(each.loss.queue).victim
        assert side.allocated_before == held[side.queue]
        held[side.queue] = tuple(map(sub, side.allocated_before, each.loss.amounts))
        assert side.allocated_after == held[side.queue]


@given(worlds())
def test_the_reclaimers_side_ends_with_the_request_and_without_its_own_losses(
    world: World,
) -> None:
    judge = judge_of(world)
    evidence = explained(world)
    for count, each in enumerate(evidence.losses, start=1):
        side = each.reclaimer
        expected = tuple(map(add, judge.allocated[side.queue], world.reclaimer.request))
        for loss in world.losses[:count]:
            if side.queue in judge.state.path(loss.queue):
                expected = tuple(map(sub, expected, loss.amounts))
        assert side.allocated_before == tuple(judge.allocated[side.queue])
        assert side.allocated_after == expected
