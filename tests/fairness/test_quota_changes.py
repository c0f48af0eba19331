"""What a quota tree tells about changes, and about workloads that could leave."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fairness.reference_quota_tree import QuotaWorld, ReferenceTree, quota_worlds


@given(world=quota_worlds(), data=st.data())
def test_changes_are_the_nodes_whose_usage_differs_since_last_asked(
    world: QuotaWorld, data: st.DataObject
) -> None:
    """Some of what is charged is taken back, and every rank is right all the while."""
    tree, usage = world.tree(), dict(world.usage)
    names = [node.name for node in world.nodes]
    nothing = (0,) * len(world.axis_resources)
    for _ in range(data.draw(st.integers(1, 3))):
        before = {name: tree.charged(name) for name in names}
        for _ in range(data.draw(st.integers(0, 3))):
            leaf, more = data.draw(st.sampled_from(world.leaves)), data.draw(world.amounts())
            tree.charge(leaf, more)
            tree.rank(leaf)
            if data.draw(st.booleans()):
                tree.discharge(leaf, more)
            else:
                usage[leaf] = tuple(map(sum, zip(usage.get(leaf, nothing), more, strict=True)))
        changed = {name for name in names if tree.charged(name) != before[name]}
        assert set(tree.changes()) == changed
        assert tree.changes() == []
        plain = ReferenceTree(world.axis_resources, world.nodes, usage)
        for name in names:
            assert tree.rank(name) == plain.dominant_share(name).rank


@given(world=quota_worlds(), data=st.data())
def test_the_rank_without_a_workload_is_that_after_it_has_left(
    world: QuotaWorld, data: st.DataObject
) -> None:
    tree, parents = world.tree(), {node.name: node.parent for node in world.nodes}
    leaf, amounts = data.draw(st.sampled_from(world.leaves)), data.draw(world.amounts())
    tree.charge(leaf, amounts)
    used = {name: tree.charged(name) for name in parents}
    name: str | None = leaf
    told = {}
    while name is not None:
        told[name] = tree.rank_without(name, leaf, tuple(enumerate(amounts)))
        name = parents[name]
    assert {name: tree.charged(name) for name in parents} == used
    tree.discharge(leaf, amounts)
    assert told == {name: tree.rank(name) for name in told}
