"""What holds for every set of losses; and the judge is the rules written out."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.kai.reclaimable import Loss, Verdict, allocated_now
from tests.model.worlds import AXES
from tests.policy.kai.plain_reclaim import may_hold, plain_verdict
from tests.policy.kai.reclaim_world import World, judge_of, judged, vectors, worlds


@given(worlds())
def test_the_verdict_is_that_of_the_rules_written_out(world: World) -> None:
    assert judged(world) == plain_verdict(world)


@given(worlds(), st.integers(1, 10**15))
def test_the_unit_of_measure_does_not_matter(world: World, scale: int) -> None:
    """Where everything is some times as much, the answer is the same: nothing is rounded."""

    def scaled(amounts: Amounts) -> Amounts:
        return tuple(amount * scale for amount in amounts)

    larger = world._replace(
        queues=tuple(
            each._replace(
                quota=tuple(None if due is None else due * scale for due in each.quota),
                limit=tuple(None if most is None else most * scale for most in each.limit),
                fair=scaled(each.fair),
                holds=scaled(each.holds),
                fixed=scaled(each.fixed),
            )
            for each in world.queues
        ),
        reclaimer=replace(world.reclaimer, request=scaled(world.reclaimer.request)),
        losses=tuple(Loss(loss.queue, scaled(loss.amounts)) for loss in world.losses),
    )
    assert judged(larger) == judged(world)


@given(worlds())
def test_judging_changes_nothing_and_remembers_nothing(world: World) -> None:
    judge = judge_of(world)
    before = allocated_now(judge.state)
    first = judge.judge(world.losses)
    assert judge.judge([]).strategies == ()
    assert judge.judge(world.losses) == first
    assert allocated_now(judge.state) == before == dict(judge.allocated)


@given(worlds(), st.data())
def test_the_order_in_which_queues_are_listed_does_not_matter(
    world: World, data: st.DataObject
) -> None:
    shuffled = world._replace(queues=tuple(data.draw(st.permutations(world.queues))))
    assert judged(shuffled) == judged(world)


@given(worlds(), st.data())
def test_the_order_of_losses_on_different_sides_does_not_matter(
    world: World, data: st.DataObject
) -> None:
    """Only what a side itself lost before counts when it is asked for more."""
    judge = judge_of(world)
    order = data.draw(st.permutations(range(len(world.losses))))
    by_side: dict[QueueName, list[Loss]] = {}
    for loss in world.losses:
        by_side.setdefault(judge.sides(loss.queue).victim, []).append(loss)
    turns = [judge.sides(world.losses[at].queue).victim for at in order]
    mixed = [by_side[side].pop(0) for side in turns]
    assert judge.judge(mixed).stands == judge.judge(world.losses).stands


@given(worlds())
def test_no_set_stands_in_which_a_queue_loses_that_may_not(world: World) -> None:
    """And one that may could lose something if it were the only one, but for saturation."""
    judge = judge_of(world)
    losers = {loss.queue for loss in world.losses}
    if not all(judge.may_lose(queue) for queue in losers):
        assert not judge.judge(world.losses).stands
    for queue in filter(judge.may_lose, losers):
        alone = judge.judge([loss for loss in world.losses if loss.queue == queue][:1])
        assert alone.stands or alone.refused_by == "saturation"


@given(worlds())
def test_the_last_loss_of_a_side_answers_for_all_before_it(world: World) -> None:
    """A side only gets poorer: one loss of all but the last says as much as each of them."""
    judge = judge_of(world)
    by_side: dict[QueueName, list[Loss]] = {}
    for loss in world.losses:
        by_side.setdefault(judge.sides(loss.queue).victim, []).append(loss)
    fewer = []
    for losses in by_side.values():
        *before, last = losses
        amounts = tuple(map(sum, zip(AXES.zero, *(loss.amounts for loss in before), strict=True)))
        fewer += [Loss(last.queue, amounts), last]
    assert judge.judge(fewer).stands == judge.judge(world.losses).stands


@given(worlds(), st.data())
def test_a_queue_within_both_guarantee_and_allocatable_loses_nothing(
    world: World, data: st.DataObject
) -> None:
    protected = data.draw(st.sampled_from(world.losses)).queue
    side = str(judge_of(world).sides(protected).victim)
    (numbers,) = (each for each in world.queues if each.name == side)
    most = [
        min([bound for bound in pair if bound is not None], default=9)
        for pair in zip(numbers.quota, may_hold(numbers), strict=True)
    ]
    within = tuple(data.draw(st.integers(0, bound)) for bound in most)
    verdict = judge_of(world.changed(side, holds=within)).judge(world.losses)
    assert not verdict.stands
    assert verdict.refused_by in ("loss", "guarantee")


@given(worlds(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(5)]))
def test_a_larger_multiplier_never_lets_more_stand(world: World, factor: Fraction) -> None:
    if judge_of(world._replace(multiplier=world.multiplier * factor)).judge(world.losses).stands:
        assert judge_of(world).judge(world.losses).stands


@given(worlds(), st.data())
def test_more_fair_share_for_the_reclaimers_side_never_turns_a_pass_into_a_refusal(
    world: World, data: st.DataObject
) -> None:
    own = data.draw(st.sampled_from(judge_of(world).path))
    (numbers,) = (each for each in world.queues if each.name == own)
    more = tuple(map(sum, zip(numbers.fair, data.draw(vectors), strict=True)))
    if judge_of(world).judge(world.losses).stands:
        assert judge_of(world.changed(own, fair=more)).judge(world.losses).stands


@given(worlds())
def test_what_cannot_be_preempted_takes_only_what_anything_could(world: World) -> None:
    def judged_as(*, preemptible: bool) -> Verdict:
        reclaimer = replace(world.reclaimer, preemptible=preemptible)
        return judge_of(world._replace(reclaimer=reclaimer)).judge(world.losses)

    if judged_as(preemptible=False).stands:
        assert judged_as(preemptible=True).stands
