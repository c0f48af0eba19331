"""With options that Kueue does not have, both searches still equal the plain ones."""

from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.model.queue import BorrowWithinCohort
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueOptions
from tests.policy.kueue.cycle.test_cycle_laws import crowd
from tests.policy.kueue.preemption.plain_classical import plain_classical_targets
from tests.policy.kueue.preemption.plain_fair import plain_fair_targets
from tests.policy.kueue.target_world import TargetWorld, target_worlds
from tests.scale_examples import scale_examples

many = settings(max_examples=scale_examples(200))


def with_options(world: TargetWorld, chance: Random) -> TargetWorld:
    """The same world with any of the options on, and those whom they are about."""
    options = KueueOptions(
        min_run_time_ms=chance.choice([0, 5]), priority_override=chance.choice([False, True])
    )
    admitted = [
        msgspec.structs.replace(
            each, is_protected=chance.random() < 0.3, size=chance.choice([0.0, 0.25, 0.5])
        )
        for each in world.admitted
    ]
    rules = world.rules[world.queue]
    if chance.random() < 0.5:
        limit = chance.choice([None, 0, 1])
        allowed = BorrowWithinCohort(policy="LowerPriority", max_priority_threshold=limit)
        rules = msgspec.structs.replace(rules, borrow_within_cohort=allowed)
    return msgspec.structs.replace(
        world,
        admitted=tuple(admitted),
        rules=world.rules | {world.queue: rules},
        settings=msgspec.structs.replace(world.settings, options=options),
        spared=_some(world, chance),
        spared_within_nominal=_some(world, chance),
        may_use_fair_sharing=chance.random() < 0.8,
    )


def _some(world: TargetWorld, chance: Random) -> frozenset[WorkloadName]:
    part = chance.choice([0, 0.3])
    return frozenset(each.name for each in world.admitted if chance.random() < part)


option_worlds = st.builds(with_options, target_worlds(), st.integers(0, 2**32).map(Random))
option_crowds = st.integers(0, 2**32).map(Random).map(lambda each: with_options(crowd(each), each))


def names_and_reasons(targets: list[Target]) -> list[tuple[str, str]]:
    return [(target.workload.name, target.reason) for target in targets]


def fair(world: TargetWorld) -> list[Target]:
    return fair_targets(world.snapshot(), world.preemptor(), world.settings)


@many
@given(option_worlds)
def test_the_fair_search_equals_the_plain_one(world: TargetWorld) -> None:
    assert names_and_reasons(fair(world)) == plain_fair_targets(world)


@settings(max_examples=scale_examples(60))
@given(option_crowds)
def test_in_a_crowd_too_the_fair_search_equals_the_plain_one(world: TargetWorld) -> None:
    assert names_and_reasons(fair(world)) == plain_fair_targets(world)


@many
@given(option_worlds)
def test_the_classical_search_equals_the_plain_one(world: TargetWorld) -> None:
    found = classical_targets(world.snapshot(), world.preemptor())
    assert names_and_reasons(found) == plain_classical_targets(world)


@given(st.one_of(option_worlds, option_crowds))
def test_nobody_is_overruled_where_the_shares_suffice(world: TargetWorld) -> None:
    """The override changes no claim that succeeds without it."""
    options = msgspec.structs.replace(world.settings.options, priority_override=False)
    without = msgspec.structs.replace(
        world, settings=msgspec.structs.replace(world.settings, options=options)
    )
    by_shares = fair(without)
    assert not by_shares or fair(world) == by_shares


@given(st.one_of(option_worlds, option_crowds))
def test_a_failed_search_leaves_everything_as_it_was(world: TargetWorld) -> None:
    snapshot, fresh = world.snapshot(), world.tree()
    found = fair_targets(snapshot, world.preemptor(), world.settings)
    for node in world.nodes:
        assert snapshot.tree.charged(node.name) == fresh.charged(node.name)
        assert snapshot.tree.rank(node.name) == fresh.rank(node.name)
    assert fair_targets(snapshot, world.preemptor(), world.settings) == found
