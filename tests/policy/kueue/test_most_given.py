"""What a queue gives to a claim that is in vain is known without asking anybody."""

import pytest
from hypothesis import find, given, settings
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.fair_search import FairSearch
from fairlead.policy.kueue.holder_line import Asking
from fairlead.policy.kueue.most_given import most_given
from fairlead.policy.kueue.preemption_policy import asking_by_shares
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from tests.policy.kueue.target_world import TargetWorld, story_world, target_worlds
from tests.text_table import rows

TREE = """
name weight nominal borrow lend within reclaim parent over
root 1      20      -      -    -      -       -      -
a    1      0       -      -    never  any     root   -
b    1      0       -      -    never  any     root   -
"""

ANYBODY = Asking("Any", 0, frozenset({0}))
MUCH = 10**9  # more than anybody gives

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


def world_of(claim: str, held: str) -> TargetWorld:
    """Return b with workloads of these sizes, the first to leave first, and a claim of a."""
    lines = [f"b{at} b {size} 0 {9 - at}" for at, size in enumerate(held.split(","))]
    table = "\n".join(["name queue amount priority since", *lines])
    return story_world(TREE, table, f"a {claim} 0", KueueSettings(fair_sharing=True))


def beside(world: TargetWorld, axis: int) -> dict[QueueName, int]:
    """Return what queues give that stand beside the claimant's and not below it, where known."""
    snapshot, claimant = world.snapshot(), world.claimant()
    snapshot.standing.catch_up()
    cohort = snapshot.parents[claimant.queue]
    if cohort is None:
        return {}
    asking = asking_by_shares(snapshot, claimant, world.settings.options)
    rank = snapshot.tree.prospect(claimant.queue, claimant.usage).rank
    found = {}
    for *_, name in snapshot.standing.below(cohort, asking):
        if name != claimant.queue and name in snapshot.rules and snapshot.tree.rank(name) >= rank:
            given = snapshot.standing.given(name, asking, axis, rank, MUCH)
            if given is not None:
                found[name] = given
    return found


def searched(world: TargetWorld, axis: int) -> dict[QueueName, int] | None:
    """Return what each queue gives to a search in vain that takes nobody of the claimant's own."""
    snapshot, claimant = world.snapshot(), world.claimant()
    snapshot.charge(claimant.queue, claimant.usage)
    snapshot.standing.catch_up()
    search = FairSearch(snapshot, claimant, world.settings)
    is_found = search.run()
    if is_found or search.is_owed:
        return None
    given = dict.fromkeys(snapshot.rules, 0)
    for choice in search.choices:
        given[choice.holder.queue] += dict(choice.holder.usage).get(axis, 0)
    return None if any(each.sides is None for each in search.choices) else given


@pytest.mark.parametrize("table", STORIES.values(), ids=STORIES.keys())
def test_a_queue_gives(table: str) -> None:
    (row,) = rows(table)
    world = world_of(row["claim"], row["held"])
    snapshot, rank = world.snapshot(), world.tree().prospect("a", world.usage).rank
    line = snapshot.line(QueueName("b")).whom(ANYBODY)
    assert most_given(snapshot.tree, QueueName("b"), line, 0, rank, MUCH) == int(row["given"])


@settings(max_examples=400, deadline=None)
@given(target_worlds())
def test_a_search_in_vain_takes_from_a_queue_what_it_gives(world: TargetWorld) -> None:
    """With both strategies; with the first alone it may take less."""
    for axis, _ in world.usage:
        taken = searched(world, axis) if world.claimant().need else None
        if taken is None or world.settings.strategies[0] != BOTH_STRATEGIES[0]:
            continue
        has_both = world.settings.strategies == BOTH_STRATEGIES
        for queue, most in beside(world, axis).items():
            assert taken[queue] <= most
            assert not has_both or world.settings.options.priority_override or taken[queue] == most


def test_there_are_searches_in_vain_that_take_something_beside() -> None:
    def takes(world: TargetWorld) -> bool:
        has_both = world.settings.strategies == BOTH_STRATEGIES
        taken = searched(world, 0) if has_both and world.claimant().need else None
        return taken is not None and any(map(taken.get, beside(world, 0)))

    find(target_worlds(), takes, settings=settings(max_examples=3000, deadline=None))


@pytest.mark.parametrize("change", ["leaves", "comes", "is first"])
def test_what_a_queue_gives_is_found_anew_after_a_change(change: str) -> None:
    """b0 and b1 leave with 2 and 1, and b2 with 4 as the one more; if it is first, it alone."""
    world = world_of("3", "2,1,4")
    snapshot, b = world.snapshot(), QueueName("b")
    first, second, third = world.holders
    rank = snapshot.tree.prospect("a", world.usage).rank

    def given_now() -> int | None:
        snapshot.standing.catch_up()
        return snapshot.standing.given(b, ANYBODY, 0, rank, MUCH)

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


def test_what_is_enough_for_one_claim_is_not_taken_for_all_that_a_queue_gives() -> None:
    world = world_of("3", "1,1,1,1,1")
    snapshot, b = world.snapshot(), QueueName("b")
    rank = snapshot.tree.prospect("a", world.usage).rank
    enough = [snapshot.standing.given(b, ANYBODY, 0, rank, much) for much in (1, 2, 3, 1)]
    assert enough == [1, 2, 2, 2]
