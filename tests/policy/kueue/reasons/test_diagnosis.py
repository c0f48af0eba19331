"""What is told of a claim to which no workload gives way: stories for each code, and laws."""

from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import Axis, QuotaAxes
from fairlead.model.plan import Comparison, Reason, Tally, Term
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.preemption.restraints import WAITS_BEFORE_SHARING, PreemptionDelay
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.reasons.diagnosis import diagnose_failed_preemption
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueOptions
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from tests.policy.kueue.preemption.test_search_options import (
    HELD,
    LENT_HELD,
    LENT_TREE,
    TREE,
    names,
    story,
)
from tests.policy.kueue.target_world import TargetWorld
from tests.policy.kueue.test_option_laws import option_crowds, option_worlds
from tests.scale_examples import scale_examples

CPU = Axis("cpu")
NOW_MS = 100
CLASSICAL_TREE = TREE.replace("lower  any     any", "lower  any     -")


def axes_of(world: TargetWorld) -> QuotaAxes:
    if world.axis_resources == ("cpu",):
        return QuotaAxes([CPU])
    return QuotaAxes([Axis(name, str(at)) for at, name in enumerate(world.axis_resources)])


def why(world: TargetWorld) -> Reason:
    return diagnosed(world, world.snapshot())


def diagnosed(world: TargetWorld, snapshot: Snapshot) -> Reason:
    return diagnose_failed_preemption(
        snapshot,
        world.preemptor(),
        world.settings,
        axes=axes_of(world),
        now_ms=NOW_MS,
        preemption_delay=None
        if world.may_use_fair_sharing
        else PreemptionDelay(NOW_MS + 60, WAITS_BEFORE_SHARING),
    )


def targets(world: TargetWorld) -> list[Target]:
    if world.settings.fair_sharing:
        return fair_targets(world.snapshot(), world.preemptor(), world.settings)
    return classical_targets(world.snapshot(), world.preemptor())


def classical(world: TargetWorld) -> TargetWorld:
    off = msgspec.structs.replace(world.settings, fair_sharing=False)
    return msgspec.structs.replace(world, settings=off)


def told(world: TargetWorld) -> str:
    reason = why(world)
    return f"{reason.code}: {reason_text(reason)}"


def test_a_queue_that_preempts_nobody() -> None:
    tree = TREE.replace("lower  any     any", "never  never   any")
    assert why(story("a 3 9", tree)) == Reason(code="PreemptionIsOff", queue=story("a 3 9").queue)


def test_nobody_is_there_to_be_asked() -> None:
    """Of a's own o is not less important; of b's, which uses 6 of 3, no workload is either."""
    tree = TREE.replace("lower  any     any", "lower  lower   any")
    held = """
        name queue amount priority since
        o    a     1      5        0
        b1   b     6      5        0
        c1   c     2      0        0
    """
    reason = why(story("a 1 5", tree, held))
    assert reason.code == "NobodyMayBeAsked"
    assert reason.tallies == (
        Tally(count=0, of=1, things="workloads of its queue", what="are less important"),
        Tally(count=1, of=2, things="queues beside it", what="have borrowed what it needs"),
        Tally(count=0, of=1, things="workloads there", what="are less important"),
    )
    assert reason_text(reason) == (
        "no workload may be preempted: 0 of 1 workload of its queue is less important, "
        "1 of 2 queues beside it has borrowed what it needs, "
        "0 of 1 workload there is less important"
    )


def test_where_nobody_borrows_no_workloads_of_borrowers_are_counted() -> None:
    """Quota 3 + 3 + 3 is in use, 3 each; o is newer than the claim but the queue asks no equals."""
    held = """
        name queue amount priority since
        o    a     3      5        9
        b1   b     3      0        0
        c1   c     3      0        0
    """
    reason = why(story("a 1 5", held=held))
    assert [(each.count, each.of) for each in reason.tallies] == [(0, 1), (0, 2)]


def test_a_queue_alone_has_only_its_own_to_ask() -> None:
    tree = """
        name parent weight nominal borrow lend within reclaim
        a    -      1      3       -      -    newer  any
    """
    held = """
        name queue amount priority since
        o    a     3      5        9
    """
    (tally,) = why(story("a 1 5", tree, held)).tallies
    assert (tally.count, tally.of, tally.what) == (0, 1, "are less important or newer")


def test_all_who_may_be_asked_hold_too_little() -> None:
    """Of 9 b gives 6 (b6 to b2), then it borrows nothing any more; 7 are asked for."""
    world = story("a 7 9")
    assert why(world) == Reason(
        code="TooLittleToTake",
        queue=world.queue,
        comparisons=(
            Comparison(
                queue=world.queue,
                axis=CPU,
                left=(Term("request", 7),),
                relation=">",
                right=Term("available then", 6),
            ),
        ),
    )
    assert why(classical(world)) == why(world)


def test_shares_forbid_to_take_one_more() -> None:
    """By 2 that a borrows it has 222. b: 444 (b6), 333 (b5), 222 (b4); at last 222 >= 222."""
    world = story("a 5 0")
    b = world.admitted[0].queue
    assert why(world) == Reason(
        code="SharesForbid",
        queue=b,
        comparisons=(
            Comparison(
                queue=b,
                axis=None,
                left=(Term("later share", 2000 / 9, world.queue),),
                relation=">=",
                right=Term("share", 2000 / 9, b),
            ),
        ),
    )


def test_shares_forbid_to_take_a_certain_one_where_there_is_no_second_round() -> None:
    """222 > 111 without b3."""
    world = story("a 5 0")
    only_first = msgspec.structs.replace(world.settings, strategies=BOTH_STRATEGIES[:1])
    reason = why(msgspec.structs.replace(world, settings=only_first))
    assert (reason.code, reason.names) == ("SharesForbid", ("b3",))
    (comparison,) = reason.comparisons
    assert comparison.left == (Term("later share", 2000 / 9, world.queue),)
    assert comparison.relation == ">"
    assert comparison.right == Term("later share", 1000 / 9, world.admitted[0].queue)


def test_a_side_that_borrows_less_is_told_as_a_whole() -> None:
    """With 1 of 11 b has 91; A has 91 / 2 = 45."""
    assert told(story("b 7 0", LENT_TREE, LENT_HELD)) == (
        "SharesForbid: the shares do not let A give more: later share of b 90.909 >= "
        "share of A 45.455"
    )


def test_of_borrowers_without_weight_what_they_borrow_is_compared() -> None:
    """Both borrow 4 of 9; the first round refuses b5, which would leave 3, the second as well."""
    tree = TREE.replace("a    root   1      3", "a    root   0      0")
    tree = tree.replace("b    root   1", "b    root   0").replace(
        "root -      1      0", "root - 1 3"
    )
    held = HELD.replace("b6   b     2", "c1   c     2")
    (comparison,) = why(story("a 4 0", tree, held)).comparisons
    assert comparison.left[0].name == "later share without weight"
    assert comparison.left[0].amount == 4000 / 9
    assert comparison.holds()


def test_without_fair_sharing_who_would_borrow_may_take_nothing() -> None:
    """0 + 4 > 3."""
    world = classical(story("a 4 9", CLASSICAL_TREE))
    assert told(world) == (
        "BorrowingForbidden: it would borrow, and may not preempt while borrowing: "
        "cpu: allocated 0 + request 0.004 > quota 0.003"
    )


def preemption_delay(**changes: Any) -> Reason:
    """A claim of 4 to which b6, b5 and b4 would give way, as 111 <= 222 in the end."""
    return why(story("a 4 0", **changes))


def test_the_protected_stand_in_the_way() -> None:
    """Now it is 100. The first who can make room for 4 are b1 (3) and b2 (1), free at 1002."""
    protected = "b1 b2 b3 b4 b5 b6"
    options = KueueOptions(min_run_time_ms=1000)
    reason = preemption_delay(protected=protected, options=options)
    assert (reason.code, reason.names, reason.queue) == ("ProtectedByMinRuntime", ("b2",), "b")
    assert reason.remaining_ms == 2 + 1000 - NOW_MS
    assert reason.tallies == (
        Tally(count=2, of=2, things="workloads that would give way", what="are protected"),
    )


def test_a_claim_waits_before_it_asks() -> None:
    reason = preemption_delay(may_use_fair_sharing=False)
    assert (reason.code, reason.names) == ("WaitsBeforeSharing", ("b6", "b5", "b4"))
    assert reason.remaining_ms == 60


def test_a_claim_would_loop() -> None:
    """Of the three that it would take b5 and b4 are spared. With b6 alone it has 2 of 4."""
    spared = names("b1 b2 b3 b4 b5")
    reason = preemption_delay(spared=spared)
    assert (reason.code, reason.names) == ("WouldLoop", ("b5", "b4"))


def test_where_two_options_hold_a_claim_back_the_first_is_told() -> None:
    """Neither alone would help."""
    both = KueueOptions(min_run_time_ms=1000)
    everybody = "b1 b2 b3 b4 b5 b6"
    reason = preemption_delay(may_use_fair_sharing=False, protected=everybody, options=both)
    assert reason.code == "WaitsBeforeSharing"
    reason = preemption_delay(spared=names(everybody), protected=everybody, options=both)
    assert reason.code == "ProtectedByMinRuntime"


def test_an_option_that_does_not_matter_is_not_told() -> None:
    """222 >= 222 in the end, whoever is spared."""
    assert (
        why(story("a 5 0", may_use_fair_sharing=False, spared=names("b6"))).code == "SharesForbid"
    )
    assert why(story("a 7 0", may_use_fair_sharing=False)).code == "TooLittleToTake"


@settings(max_examples=scale_examples(200))
@given(st.one_of(option_worlds, option_crowds), st.booleans())
def test_of_every_claim_that_fails_something_true_is_told(
    world: TargetWorld, is_fair: bool
) -> None:
    asked = world if is_fair else classical(world)
    assume(asked.preemptor().need and not targets(asked))
    reason = why(asked)
    assert all(comparison.holds() for comparison in reason.comparisons)
    assert reason.comparisons or reason.tallies or reason.names or reason.code == "PreemptionIsOff"
    is_by_shares = reason.code in ("SharesForbid", "WaitsBeforeSharing", "ProtectedByMinRuntime")
    assert is_fair or not is_by_shares


@settings(max_examples=scale_examples(60))
@given(st.one_of(option_worlds, option_crowds), st.booleans())
def test_a_diagnosis_leaves_everything_as_it_was(world: TargetWorld, is_fair: bool) -> None:
    asked = world if is_fair else classical(world)
    snapshot, fresh = asked.snapshot(), asked.tree()
    assume(asked.preemptor().need and not targets(asked))
    diagnosed(asked, snapshot)
    for node in world.nodes:
        assert snapshot.tree.charged(node.name) == fresh.charged(node.name)
        assert snapshot.tree.rank(node.name) == fresh.rank(node.name)
