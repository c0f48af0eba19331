"""What becomes of each head in a cycle: stories with their arithmetic, and laws."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import Usage
from tests.fairness.reference_quota_tree import ReferenceTree
from tests.policy.kueue.cycle_world import (
    CLASSICAL,
    FAIR,
    CycleWorld,
    cycle_worlds,
    lines,
    read_world,
    told,
)
from tests.scale_examples import scale_examples

QUEUES = "name parent weight within reclaim red/cpu\n"
HELD = "name queue priority since uses\n"
HEADS = "name queue priority queued asks\n"
NO_SECOND_LOOK = KueueSettings(
    fair_sharing=True, feature_gates=(("RecomputeAssignmentUponPreemptionTargetsOverlap", False),)
)


class Story(NamedTuple):
    queues: str
    held: str
    heads: str
    turns: str  # in their order: head, outcome, flavors, who gives way
    settings: KueueSettings = FAIR


def cohort(root: str, *queues: str) -> str:
    """A root with quota, and queues right below it: name weight within reclaim quota."""
    below = [f"{q.split()[0]} root {' '.join(q.split()[1:])}" for q in queues]
    return "\n".join([f"root - 1 - - {root}", *below])


THREE = ("a 1 never never 0", "b 1 never never 0", "c 1 never never 0")

LIMITS = {
    # 2 + 2 = 4 of 4.
    "two who borrow share what there is": Story(
        cohort("4", *THREE),
        "",
        "v a 0 0 cpu=2\nw b 0 1 cpu=2",
        "v admitted cpu=red\nw admitted cpu=red",
    ),
    # On its own each fits. 3 + 2 = 5 > 4.
    "what the first took is gone for the second": Story(
        cohort("4", *THREE),
        "",
        "v a 9 0 cpu=3\nw b 0 1 cpu=2",
        "w admitted cpu=red\nv skipped cpu=red",
    ),
    # The borrowing limits are 2 each. 2 + 2 of 5 leave 1 that no workload may have.
    "nobody borrows beyond its limit though there is more": Story(
        cohort("5", "a 1 never never 0:borrow2", "b 1 never never 0:borrow2"),
        "",
        "v a 0 0 cpu=2\nw b 0 1 cpu=3",
        "w nofit\nv admitted cpu=red",
    ),
    # Quota 1 and 1 borrowed: 1 + 1 are as many as a may have.
    "what is in use counts towards the limit": Story(
        cohort("5", "a 1 never never 1:borrow1"),
        "k a 0 0 red/cpu=1",
        "v a 0 0 cpu=1",
        "v admitted cpu=red",
    ),
    # 2 in use of 1 + 1. Asking for 1 is within the limits, but not now: there are no candidates.
    "who is at its limit waits": Story(
        cohort("5", "a 1 never never 1:borrow1"),
        "k a 0 0 red/cpu=2",
        "v a 0 0 cpu=1",
        "v nocandidates cpu=red",
    ),
    # a cohort's limit binds the two below it: 2 + 1 > 0 + 2.
    "a cohort's borrowing limit binds all below it together": Story(
        """
        root - 1 - - 9
        A root 1 - - 0:borrow2
        a A 1 never never 0
        b A 1 never never 0
        """,
        "",
        "v a 0 0 cpu=2\nw b 0 1 cpu=1",
        "w admitted cpu=red\nv skipped cpu=red",
    ),
    # b lends 1 of 4, and keeps 3 for itself even while it uses nothing.
    "what a lending limit withholds is for its queue alone": Story(
        cohort("0", "a 1 never never 0", "b 1 never never 4:lend1"),
        "",
        "v a 0 0 cpu=2\nw b 0 1 cpu=4",
        "v nofit\nw admitted cpu=red",
    ),
    # Within its quota w goes first and takes all 4, so b has nothing to lend.
    "what is not used first can be lent": Story(
        cohort("0", "a 1 never never 0", "b 1 never never 4:lend1"),
        "",
        "v a 9 0 cpu=1\nw b 0 1 cpu=4",
        "w admitted cpu=red\nv skipped cpu=red",
    ),
    # o has the 1 that b lends: 4 - 1 = 3 are left to w, which asks for 4 of its 4.
    "what was lent is gone for the lender": Story(
        cohort("0", "a 1 never never 0", "b 1 never never 4:lend1"),
        "o a 0 0 red/cpu=1",
        "w b 0 1 cpu=4",
        "w nocandidates cpu=red",
    ),
    "and the rest is there for it": Story(
        cohort("0", "a 1 never never 0", "b 1 never never 4:lend1"),
        "o a 0 0 red/cpu=1",
        "w b 0 1 cpu=3",
        "w admitted cpu=red",
    ),
}

# l has 3 of a's 4 and is too important to be asked.
LENT = "a 1 never never 4"
# k has 3 of a's own 4; there is no other candidate.
FULL = "a 1 never lower 4"
# k has 1 of the 2 that a may borrow, and the root has 3 left.
LIMITED = "a 4 never lower 0:borrow2"

RESERVATIONS = {
    # 2 <= 4 - 0: all of it is within a's quota and set aside. 4 - 3 - 2 < 1.
    "a head within its quota keeps it from a borrower": Story(
        cohort("0", LENT, *THREE[1:]),
        "l b 9 0 red/cpu=3",
        "v a 5 0 cpu=2\nw c 0 1 cpu=1",
        "v nocandidates cpu=red\nw skipped cpu=red",
    ),
    # a would use 5 of 4, w 1 of 0: 1/4 each, but v is more important. 3 + 2 + 1 > 4.
    "a head that would borrow keeps all it asks for": Story(
        cohort("0", FULL, *THREE[1:]),
        "k a 9 0 red/cpu=3",
        "v a 5 0 cpu=2\nw c 0 1 cpu=1",
        "v nocandidates cpu=red\nw skipped cpu=red",
    ),
    # The same, but it could take its place back from w at any time: 3 + 1 = 4.
    "a head that may always reclaim keeps nothing": Story(
        cohort("0", FULL.replace("lower", "any"), *THREE[1:]),
        "k a 9 0 red/cpu=3",
        "v a 5 0 cpu=2\nw c 0 1 cpu=1",
        "v nocandidates cpu=red\nw admitted cpu=red",
    ),
    # v asks for 2 and may have 0 + 2 - 1 = 1 more, which is set aside: 1 + 1 + 2 = 4.
    "a head keeps no more than its borrowing limit leaves it": Story(
        cohort("4", LIMITED, *THREE[1:]),
        "k a 9 0 red/cpu=1",
        "v a 5 0 cpu=2\nw c 0 1 cpu=2",
        "v nocandidates cpu=red\nw admitted cpu=red",
    ),
    # 1 + 1 + 3 = 5 > 4.
    "but that much it does keep": Story(
        cohort("4", LIMITED, *THREE[1:]),
        "k a 9 0 red/cpu=1",
        "v a 5 0 cpu=2\nw c 0 1 cpu=3",
        "v nocandidates cpu=red\nw skipped cpu=red",
    ),
}

RECLAIMERS = cohort("0", "a 1 never any 3", "b 1 never any 3", "z 1 never never 0")
BOTH_CLAIM = "v a 0 0 cpu=3\nw b 0 1 cpu=3"

OVERLAPS = {
    # x has 6 that a and b lent: 3 + 3 = 6 once it has gone.
    "a victim that makes room for two": Story(
        RECLAIMERS,
        "x z 0 0 red/cpu=6",
        BOTH_CLAIM,
        "v preempting cpu=red x\nw deferred cpu=red",
    ),
    "without a second look the other one is skipped": Story(
        RECLAIMERS,
        "x z 0 0 red/cpu=6",
        BOTH_CLAIM,
        "v preempting cpu=red x\nw skipped cpu=red",
        NO_SECOND_LOOK,
    ),
    # Either would take x, the newer one. On the second look x has gone and y is left.
    "a second look finds another victim": Story(
        RECLAIMERS,
        "x z 0 2 red/cpu=3\ny z 0 1 red/cpu=3",
        BOTH_CLAIM,
        "v preempting cpu=red x\nw preempting cpu=red y",
    ),
    "without a second look there is no other victim": Story(
        RECLAIMERS,
        "x z 0 2 red/cpu=3\ny z 0 1 red/cpu=3",
        BOTH_CLAIM,
        "v preempting cpu=red x\nw skipped cpu=red",
        NO_SECOND_LOOK,
    ),
    "the same without fair sharing": Story(
        RECLAIMERS,
        "x z 0 2 red/cpu=3\ny z 0 1 red/cpu=3",
        BOTH_CLAIM,
        "v preempting cpu=red x\nw preempting cpu=red y",
        CLASSICAL,
    ),
    # b would borrow 3 of 4 and x borrows 4 of 4: it may be asked. v has a right to its 2 and goes
    # first. Then 4 - 2 = 2 < 3, and no candidate is left.
    "a second look may find nobody": Story(
        cohort("2", "a 1 never any 2", "b 1 never any 0", "z 1 never never 0"),
        "x z 0 0 red/cpu=4",
        "v a 0 0 cpu=2\nw b 0 1 cpu=3",
        "v preempting cpu=red x\nw nocandidates cpu=red",
    ),
    # w's 3 count although it is not admitted yet: 3 + 3 leave nothing of 6 to u.
    "who fits later keeps its place": Story(
        RECLAIMERS.replace(
            "z root 1 never never 0", "z root 1 never never 0\nc root 1 never any 0"
        ),
        "x z 0 0 red/cpu=6",
        f"{BOTH_CLAIM}\nu c 0 2 cpu=1",
        "v preempting cpu=red x\nw deferred cpu=red\nu nocandidates cpu=red",
    ),
    # Each makes room in its own queue.
    "victims apart need no second look": Story(
        """
        root - 1 - - 0
        a root 1 lower never 2:lend0
        b root 1 lower never 2:lend0
        """,
        "x a 0 0 red/cpu=2\ny b 0 0 red/cpu=2",
        "v a 5 0 cpu=2\nw b 5 1 cpu=2",
        "v preempting cpu=red x\nw preempting cpu=red y",
        NO_SECOND_LOOK,
    ),
}

# Of 10 + 1: a borrows 1 and e 2 without weight; b 2 with weight 1/2: 2/11 * 2 = 4/11; c 3/11; d has
# its own.
WEIGHTS = cohort(
    "10",
    "a 0 never never 0",
    "b 0.5 never never 0",
    "c 1 never never 0",
    "d 0 never never 1",
    "e 0 never never 0",
)
FIVE_HEADS = "ha a 0 0 cpu=1\nhb b 0 1 cpu=2\nhc c 0 2 cpu=3\nhd d 0 3 cpu=1\nhe e 9 4 cpu=2"
RICH_AND_POOR = cohort("2", "a 1 never any 2", "b 1 never never 0", "c 1 never never 0")

ORDERS = {
    # hd borrows nothing; 3/11 < 4/11; without weight any share is endless: 1/11 before 2/11.
    "weights zero and below one in the order": Story(
        WEIGHTS,
        "",
        FIVE_HEADS,
        "\n".join(f"{head} admitted cpu=red" for head in ("hd", "hc", "hb", "ha", "he")),
    ),
    # hd borrows nothing; then importance; then time.
    "without fair sharing weights do not matter": Story(
        WEIGHTS,
        "",
        FIVE_HEADS,
        "\n".join(f"{head} admitted cpu=red" for head in ("hd", "he", "ha", "hb", "hc")),
        CLASSICAL,
    ),
    # 2/4 before 3/4, whatever the importance; 2 + 3 > 4.
    "with fair sharing the smaller share goes first": Story(
        cohort("4", *THREE),
        "",
        "v a 9 0 cpu=3\nw b 0 1 cpu=2",
        "w admitted cpu=red\nv skipped cpu=red",
    ),
    "without it the more important one": Story(
        cohort("4", *THREE),
        "",
        "v a 9 0 cpu=3\nw b 0 1 cpu=2",
        "v admitted cpu=red\nw skipped cpu=red",
        CLASSICAL,
    ),
    # At first v has 2/8 and w 3/8; a has weight 1/2, so 4/8 for v. w, then v: 3 + 2 <= 8.
    "a weight below one makes a share larger": Story(
        cohort("8", "a 0.5 never never 0", "b 1 never never 0"),
        "",
        "v a 0 0 cpu=2\nw b 0 1 cpu=3",
        "w admitted cpu=red\nv admitted cpu=red",
    ),
    # b has 3/4, c 1/4.
    "with fair sharing the largest share gives way": Story(
        RICH_AND_POOR,
        "x b 0 1 red/cpu=3\ny c 0 2 red/cpu=1",
        "v a 0 0 cpu=1",
        "v preempting cpu=red x",
    ),
    "without it the newest": Story(
        RICH_AND_POOR,
        "x b 0 1 red/cpu=3\ny c 0 2 red/cpu=1",
        "v a 0 0 cpu=1",
        "v preempting cpu=red y",
        CLASSICAL,
    ),
}

ALL = LIMITS | RESERVATIONS | OVERLAPS | ORDERS


@pytest.mark.parametrize("story", ALL.values(), ids=ALL.keys())
def test_turns(story: Story) -> None:
    world = read_world(
        "red: cpu",
        QUEUES + story.queues.strip(),
        HELD + story.held if story.held else "",
        HEADS + story.heads,
        settings=story.settings,
    )
    assert [told(turn) for turn in world.turns()] == lines(story.turns)


class Ledger:
    """What every queue uses once all victims have left and all who may have started."""

    def __init__(self, world: CycleWorld) -> None:
        self.world = world
        self.rows = {name: [0] * len(world.axes()) for name in world.rules}
        for admitted in world.admitted:
            self.add(admitted.queue, admitted.usage)

    def add(self, queue: QueueName, usage: Usage, sign: int = 1) -> None:
        for axis, amount in usage:
            self.rows[queue][axis] += sign * amount

    def tree(self) -> ReferenceTree:
        resources = [axis.resource for axis in self.world.axes().axes]
        usage = {str(name): tuple(row) for name, row in self.rows.items()}
        return ReferenceTree(resources, self.world.nodes, usage)

    def take(self, turn: Turn) -> None:
        """Let the victims of a turn leave."""
        for target in turn.targets:
            self.add(target.workload.queue, target.workload.usage, -1)


def may_start(turn: Turn) -> bool:
    return turn.outcome in ("admitted", "preempting", "deferred")


def assert_within_limits(queue: str, before: ReferenceTree, after: ReferenceTree) -> None:
    """Whoever uses more now is within its borrowing limit, and a root within what it was lent."""
    node = after.nodes[queue]
    for axis, limit in enumerate(node.borrow_limit):
        if after.usage(queue, axis) == before.usage(queue, axis):
            continue
        if node.parent is None:
            limit = 0
        if limit is not None:
            assert after.usage(queue, axis) <= after.subtree(queue, axis) + limit
    if node.parent is not None:
        assert_within_limits(node.parent, before, after)


many = settings(max_examples=scale_examples(300))
some = settings(max_examples=scale_examples(100))


@many
@given(cycle_worlds())
def test_nobody_breaks_a_borrowing_or_a_lending_limit(world: CycleWorld) -> None:
    """A root counts only what its children use beyond what they withhold, and only has the rest.

    A state that was over its limits already may stay so, as long as no workload adds to it there.
    """
    ledger = Ledger(world)
    for turn in world.turns():
        ledger.take(turn)
        if may_start(turn):
            assert turn.nomination.assignment is not None
            before = ledger.tree()
            queue = turn.nomination.pending.queue
            ledger.add(queue, turn.nomination.assignment.usage)
            assert_within_limits(queue, before, ledger.tree())


@some
@given(cycle_worlds())
def test_every_head_has_one_turn_and_every_victim_one_claimant(world: CycleWorld) -> None:
    turns = world.turns()
    assert sorted(t.nomination.pending.name for t in turns) == sorted(h.name for h in world.heads)
    victims = [target.workload.name for turn in turns for target in turn.targets]
    assert len(victims) == len(set(victims))
    for turn in turns:
        assert (turn.outcome == "preempting") == bool(turn.targets)
        assert (turn.outcome == "nofit") == (turn.nomination.assignment is None)


@some
@given(cycle_worlds())
def test_the_same_cycle_has_the_same_turns(world: CycleWorld) -> None:
    assert world.turns() == world.turns()


@some
@given(cycle_worlds(), st.data())
def test_listing_things_in_another_order_changes_nothing(
    world: CycleWorld, data: st.DataObject
) -> None:
    other = replace(
        world,
        nodes=tuple(data.draw(st.permutations(world.nodes))),
        rules=dict(data.draw(st.permutations(list(world.rules.items())))),
        admitted=tuple(data.draw(st.permutations(world.admitted))),
        heads=tuple(data.draw(st.permutations(world.heads))),
    )
    assert other.turns() == world.turns()
