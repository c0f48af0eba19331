"""No claim gets more than the bound says, and many are known to be in vain by it."""

import pytest
from hypothesis import find, given, settings

from fairlead.policy.kueue.fair_search import FairSearch
from tests.policy.kueue.target_world import TargetWorld, target_worlds


def searched(world: TargetWorld) -> FairSearch:
    """Return a search for the claimant of *world*, which is charged and has asked nobody."""
    snapshot, claimant = world.snapshot(), world.claimant()
    snapshot.standing.catch_up()
    snapshot.charge(claimant.queue, claimant.usage)
    return FairSearch(snapshot, claimant, world.settings)


@settings(max_examples=300, deadline=None)
@given(target_worlds())
def test_a_search_that_is_plainly_in_vain_finds_too_few(world: TargetWorld) -> None:
    if world.claimant().need and searched(world).is_plainly_in_vain():
        assert not searched(world).run()


@settings(max_examples=300, deadline=None)
@given(target_worlds())
def test_no_side_below_the_ranks_of_the_bound_gives_anything(world: TargetWorld) -> None:
    search = searched(world)
    if world.claimant().need and search.is_plainly_in_vain():
        assert search.bound is not None
        made = searched(world)
        made.run()
        assert bool(made.choices) <= search.bound.may_take


@pytest.mark.parametrize("may_take", [False, True])
def test_some_claims_are_known_to_be_in_vain(may_take: bool) -> None:
    """With nobody to ask, and with some who are too few."""

    def is_found(world: TargetWorld) -> bool:
        search = searched(world)
        bound = search.bound if search.is_plainly_in_vain() else None
        return bound is not None and bound.may_take == may_take

    find(target_worlds(), is_found, settings=settings(max_examples=3000, deadline=None))
