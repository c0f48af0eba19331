"""Both searches equal the plain ones, change nothing, and take no workload in vain."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Preemptor
from tests.policy.kueue.plain_world import PlainWorld
from tests.policy.kueue.preemption.plain_classical import plain_classical_targets
from tests.policy.kueue.preemption.plain_fair import plain_fair_targets
from tests.policy.kueue.target_world import TargetWorld, target_worlds
from tests.scale_examples import scale_examples

Search = Callable[[Snapshot, Preemptor, TargetWorld], list[Target]]
SEARCHES: dict[str, Search] = {
    "fair": lambda snapshot, preemptor, world: fair_targets(snapshot, preemptor, world.settings),
    "classical": lambda snapshot, preemptor, _: classical_targets(snapshot, preemptor),
}
many = settings(max_examples=scale_examples(250))
some = settings(max_examples=scale_examples(60))
both = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())


def found_in(world: TargetWorld, search: Search) -> list[Target]:
    return search(world.snapshot(), world.preemptor(), world)


def names_and_reasons(targets: list[Target]) -> list[tuple[str, str]]:
    return [(target.workload.name, target.reason) for target in targets]


@many
@given(target_worlds())
def test_the_fair_search_equals_the_plain_one(world: TargetWorld) -> None:
    found = names_and_reasons(found_in(world, SEARCHES["fair"]))
    assert found == plain_fair_targets(world)


@many
@given(target_worlds())
def test_the_classical_search_equals_the_plain_one(world: TargetWorld) -> None:
    found = names_and_reasons(found_in(world, SEARCHES["classical"]))
    assert found == plain_classical_targets(world)


@both
@some
@given(world=target_worlds())
def test_a_search_leaves_everything_as_it_was(search: Search, world: TargetWorld) -> None:
    snapshot, fresh = world.snapshot(), world.tree()
    search(snapshot, world.preemptor(), world)
    for node in world.nodes:
        assert snapshot.tree.charged(node.name) == fresh.charged(node.name)
        assert snapshot.tree.rank(node.name) == fresh.rank(node.name)
    again = search(snapshot, world.preemptor(), world)
    assert again == found_in(world, search)


@both
@some
@given(world=target_worlds())
def test_the_claimant_fits_without_the_targets(search: Search, world: TargetWorld) -> None:
    targets = found_in(world, search)
    plain = PlainWorld(world)
    plain.gone = [target.workload for target in targets]
    assert plain.fits() == (bool(targets) or not plain.need)


@given(target_worlds())
def test_no_fair_target_could_stay(world: TargetWorld) -> None:
    targets = found_in(world, SEARCHES["fair"])
    plain = PlainWorld(world)
    for spared in targets:
        plain.gone = [target.workload for target in targets if target is not spared]
        assert not plain.fits()


@given(target_worlds())
def test_the_shares_that_are_told_justify_the_choice(world: TargetWorld) -> None:
    for target in found_in(world, SEARCHES["fair"]):
        told = target.compared
        assert (told is not None) == (target.reason == "InCohortFairSharing")
        if told is None:
            continue
        assert told.strategy in world.settings.strategies
        assert told.preemptor_before.rank <= told.preemptor_after.rank
        assert told.target_after.rank <= told.target_before.rank
        if told.strategy == "LessThanInitialShare":
            assert told.preemptor_after.rank < told.target_before.rank
        else:
            assert told.preemptor_after.rank <= told.target_after.rank


@both
@some
@given(world=target_worlds(), data=st.data())
def test_listing_things_in_another_order_changes_nothing(
    search: Search, world: TargetWorld, data: st.DataObject
) -> None:
    nodes = data.draw(st.permutations(world.nodes))
    admitted = data.draw(st.permutations(world.admitted))
    other = msgspec.structs.replace(world, nodes=tuple(nodes), admitted=tuple(admitted))
    assert found_in(other, search) == found_in(world, search)
