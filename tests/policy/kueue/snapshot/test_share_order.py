"""The order of shares that is kept through changes is the one that is found anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.policy.kueue.snapshot.admitted import CandidateFilter
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from tests.policy.kueue.target_world import TargetWorld, target_worlds
from tests.scale_examples import scale_examples


def filters_of(world: TargetWorld) -> list[CandidateFilter]:
    """Return one filter for each axis: with several flavors other workloads pass each."""
    return [
        CandidateFilter("LowerPriority", 1, frozenset({axis}))
        for axis in range(len(world.axis_resources))
    ]


def orders(snapshot: Snapshot, world: TargetWorld) -> list[list[object]]:
    snapshot.share_order.refresh()
    return [
        list(snapshot.share_order.below(cohort, each))
        for cohort in snapshot.children
        for each in filters_of(world)
    ]


@settings(max_examples=scale_examples(300))
@given(world=target_worlds(), data=st.data())
def test_the_kept_order_is_the_one_found_anew(world: TargetWorld, data: st.DataObject) -> None:
    snapshot = world.snapshot()
    orders(snapshot, world)
    away = []
    for admitted in data.draw(st.permutations(world.admitted)):
        if data.draw(st.booleans()):
            snapshot.remove(admitted)
            away.append(admitted)
        elif away:
            snapshot.admit(away.pop())
        assert orders(snapshot, world) == orders(snapshot.copy(), world)
