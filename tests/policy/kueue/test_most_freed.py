"""No claim gets more than the bound says, and many are known to be in vain by it."""

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from fairlead.policy.kueue.preemption.fair import FairSearch
from fairlead.policy.kueue.pruning.failed_search import FailedSearch, failure_in_sight
from tests.policy.kueue.target_world import TargetWorld, target_worlds
from tests.scale_examples import ONE_IS_ENOUGH, scale_examples

pytestmark = pytest.mark.exhaustive


def foreseen(world: TargetWorld, *, is_likely: bool = False) -> FailedSearch | None:
    """Return how the search for the claimant of *world* ends, if that is plain."""
    snapshot, claimant = world.snapshot(), world.claimant()
    if not claimant.need:
        return None
    snapshot.standing.catch_up()
    return failure_in_sight(snapshot, claimant, world.settings, is_likely=is_likely)


def searched(world: TargetWorld) -> tuple[bool, FairSearch]:
    """Return whether a search for the claimant of *world* that is made finds enough, and it."""
    snapshot, claimant = world.snapshot(), world.claimant()
    snapshot.charge(claimant.queue, claimant.usage)
    snapshot.standing.catch_up()
    search = FairSearch(snapshot, claimant, world.settings)
    return search.run(), search


@settings(max_examples=scale_examples(400), deadline=None)
@given(target_worlds(), st.booleans())
def test_a_search_that_is_plainly_in_vain_finds_too_few(world: TargetWorld, likely: bool) -> None:
    """And ends as was told, with as little room and no side asked that was not to be."""
    told = foreseen(world, is_likely=likely)
    if told is not None:
        is_found, search = searched(world)
        ended = search.failure()
        assert not is_found
        assert ended.took_any <= told.took_any
        assert all(rank <= after for rank, after in zip(told.ranks, ended.ranks, strict=True))
        assert all(dict(ended.lacking)[axis] >= amount for axis, amount in told.lacking)


@pytest.mark.parametrize("took_any", [False, True])
def test_some_claims_are_known_to_be_in_vain(took_any: bool) -> None:
    """With nobody to ask, and with some who are too few."""

    def is_foreseen(world: TargetWorld) -> bool:
        told = foreseen(world)
        return told is not None and told.took_any == took_any

    find(target_worlds(), is_foreseen, settings=ONE_IS_ENOUGH)


def test_some_claims_are_known_to_be_in_vain_by_a_search_of_cohorts_alone() -> None:
    def is_foreseen(world: TargetWorld) -> bool:
        return foreseen(world) is None and foreseen(world, is_likely=True) is not None

    find(target_worlds(), is_foreseen, settings=ONE_IS_ENOUGH)
