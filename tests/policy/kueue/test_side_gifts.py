"""What a side gives to a claim that is in vain is known without a search of all sides."""

from itertools import pairwise

import pytest
from hypothesis import find, given, settings
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.preemption.candidates import asking_by_shares
from fairlead.policy.kueue.preemption.fair import FairSearch
from fairlead.policy.kueue.pruning.side_gifts import SideGifts
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.snapshot.admitted import Asking
from fairlead.policy.kueue.snapshot.share_order import MOST_GIFTS
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Holder
from tests.policy.kueue.target_world import TargetWorld, story_world, target_worlds
from tests.scale_examples import ONE_IS_ENOUGH, scale_examples
from tests.text_table import rows

FLAT = """
name weight nominal borrow lend within reclaim parent over
root 1      20      -      -    -      -       -      -
a    1      0       -      -    never  any     root   -
b    1      0       -      -    never  any     root   -
"""

# The same, but b is not beside a: its cohort is.
DEEP = """
name weight nominal borrow lend within reclaim parent over
root 1      20      -      -    -      -       -      -
a    1      0       -      -    never  any     root   -
side 1      0       -      -    -      -       root   -
b    1      0       -      -    never  any     side   -
"""

TREES = pytest.mark.parametrize(("tree", "side"), [(FLAT, "b"), (DEEP, "side")], ids=["b", "side"])

# What of b leaves, the first of its line first, for a claim of a that would stand at so much.
STORIES = {
    "b leaves what it has above 4, and nobody who is too large": """
        claim held      given
        4     1,1,1,3   2
    """,
    "who is too large is passed by, and smaller ones behind it leave": """
        claim held      given
        4     2,4,2     4
    """,
    "left with 4 it stands above 3, so one more leaves, the first who was too large": """
        claim held      given
        3     1,4       5
    """,
    "with as much as the claim it stands as high, and nobody can leave": """
        claim held      given
        4     2,2       0
    """,
}
ANYBODY = Asking("Any", 0, frozenset({0}))
MUCH = 10**9  # more than anybody gives


def world_of(tree: str, claim: str, held: str) -> TargetWorld:
    """Return b with workloads of these sizes, the first to leave first, and a claim of a."""
    lines = [f"b{at} b {size} 0 {9 - at}" for at, size in enumerate(held.split(","))]
    table = "\n".join(["name queue amount priority since", *lines])
    return story_world(tree, table, f"a {claim} 0", KueueSettings(fair_sharing=True))


def gifts_of(snapshot: Snapshot, asking: Asking, axis: int) -> SideGifts:
    snapshot.standing.catch_up()
    return SideGifts(snapshot, asking, axis, BOTH_STRATEGIES[0], searches=True)


def searched(world: TargetWorld) -> list[Holder] | None:
    """Return whom a search takes in vain, beyond its quota and of other queues alone."""
    snapshot, claimant = world.snapshot(), world.claimant()
    if not claimant.need or world.settings.strategies[0] != BOTH_STRATEGIES[0]:
        return None
    snapshot.charge(claimant.queue, claimant.usage)
    snapshot.standing.catch_up()
    search = FairSearch(snapshot, claimant, world.settings)
    if search.run() or search.is_owed or any(each.sides is None for each in search.choices):
        return None
    return [choice.holder for choice in search.choices]


def compared(
    world: TargetWorld, taken: list[Holder], axis: int
) -> list[tuple[QueueName, int, int, bool]]:
    """Return what sides that may be asked give, what was taken there, and if it must be as much.

    Up to the first cohort of which somebody was taken: the claimant's side stands lower then.
    """
    snapshot, claimant = world.snapshot(), world.claimant()
    asking = asking_by_shares(snapshot, claimant, world.settings.options)
    gifts = gifts_of(snapshot, asking, axis)
    found, usage = [], claimant.usage
    for ours, cohort in pairwise(snapshot.path(claimant.queue)):
        if any(ours in snapshot.path(holder.queue) for holder in taken):
            break
        prospect = snapshot.tree.prospect(ours, usage)
        usage = prospect.noticed
        for side in gifts.not_below(ours, cohort, prospect.rank):
            known = gifts.given(side, prospect.rank, MUCH)
            there = [dict(each.usage) for each in taken if side in snapshot.path(each.queue)]
            if known is not None:
                key = (asking, axis, prospect.rank)
                is_exact = snapshot.standing.gifts(side).get(key) is not None
                found.append((side, known, sum(each.get(axis, 0) for each in there), is_exact))
    charged = [snapshot.tree.charged(name) for name in snapshot.parents]
    assert charged == [world.tree().charged(name) for name in snapshot.parents]
    return found


@TREES
@pytest.mark.parametrize("table", STORIES.values(), ids=STORIES.keys())
def test_a_side_gives(table: str, tree: str, side: str) -> None:
    (row,) = rows(table)
    world = world_of(tree, row["claim"], row["held"])
    rank = world.tree().prospect("a", world.usage).rank
    gifts = gifts_of(world.snapshot(), ANYBODY, 0)
    assert gifts.given(QueueName(side), rank, MUCH) == int(row["given"])


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(400), deadline=None)
@given(target_worlds())
def test_a_search_in_vain_takes_from_a_side_what_it_gives(world: TargetWorld) -> None:
    """Of most sides just that, with both strategies; and of no side more."""
    taken, has_both = searched(world), world.settings.strategies == BOTH_STRATEGIES
    for axis, _ in world.usage if taken is not None else ():
        assert taken is not None
        for side, known, there, is_exact in compared(world, taken, axis):
            assert there == known if is_exact and has_both else there <= known, side


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_cohort", [False, True])
def test_there_are_sides_of_which_just_what_they_give_is_taken(is_cohort: bool) -> None:
    def is_one(world: TargetWorld) -> bool:
        taken = searched(world)
        sides = [] if taken is None else compared(world, taken, 0)
        return any(
            is_exact and there and (side not in world.rules) == is_cohort
            for side, _, there, is_exact in sides
        )

    find(target_worlds(), is_one, settings=ONE_IS_ENOUGH)


@TREES
@pytest.mark.parametrize("change", ["leaves", "comes", "is first"])
def test_what_a_side_gives_is_found_anew_after_a_change(change: str, tree: str, side: str) -> None:
    """b0 and b1 leave with 2 and 1, and b2 with 4 as the one more; if it is first, it alone."""
    world = world_of(tree, "3", "2,1,4")
    snapshot, (first, second, third) = world.snapshot(), world.holders
    rank = snapshot.tree.prospect("a", world.usage).rank

    def given_now() -> int | None:
        return gifts_of(snapshot, ANYBODY, 0).given(QueueName(side), rank, MUCH)

    assert given_now() == 7
    match change:
        case "leaves":
            snapshot.let_leave(second)
            assert given_now() == 6
        case "comes":
            snapshot.admit(replace(first, name=WorkloadName("b9"), usage=((0, 1),), reserved_ms=1))
            assert given_now() == 8
        case _:
            snapshot.let_be_evicted(third)
            assert given_now() == 4


@TREES
def test_what_is_enough_for_one_claim_is_not_taken_for_all_that_a_side_gives(
    tree: str, side: str
) -> None:
    world = world_of(tree, "3", "1,1,1,1,1")
    rank = world.tree().prospect("a", world.usage).rank
    gifts = gifts_of(world.snapshot(), ANYBODY, 0)
    assert [gifts.given(QueueName(side), rank, much) for much in (1, 2, 3, 1)] == [1, 2, 2, 2]


def test_no_more_than_some_gifts_are_remembered_of_a_side_where_nothing_happens() -> None:
    standing = world_of(FLAT, "4", "3").snapshot().standing
    most = 0
    for number in range(3 * MOST_GIFTS):
        known = standing.gifts(QueueName("b"))
        known[ANYBODY, 0, (False, float(number))] = 0
        most = max(most, len(known))
    assert most == MOST_GIFTS
