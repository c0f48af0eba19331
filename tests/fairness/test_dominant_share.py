"""Dominant shares: worked figures, the order between them, and fast against plain."""

import itertools
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.dominant_share import (
    LARGEST_STATUS,
    DominantShare,
    borrowing_ratio,
    dominant_share,
)
from fairlead.fairness.quota_tree import Prospect, QuotaNode, QuotaTree
from tests.conformance import published_kueue
from tests.fairness.reference_quota_tree import (
    WEIGHTS,
    QuotaWorld,
    ReferenceTree,
    compare,
    quota_worlds,
)

# share = max over resources of 1000 x borrowed / lendable, divided by the weight.
SHARES = {
    "one of ten": ("cpu=1", "cpu=10", "1", "100 cpu"),
    "a weight of two halves it": ("cpu=1", "cpu=11", "2", f"{1 * 1000.0 / 11 / 2} cpu"),
    "a weight below one raises it": ("cpu=2", "cpu=10", "0.5", "400 cpu"),
    "the worst resource decides": ("cpu=1 gpu=3", "cpu=10 gpu=10", "1", "300 gpu"),
    "of equals the first by name": ("gpu=2 cpu=2", "cpu=8 gpu=8", "1", "250 cpu"),
    "weight zero makes any borrowing infinite": ("cpu=1", "cpu=10", "0", "inf cpu"),
    "weight zero without borrowing is nothing": ("", "cpu=10", "0", "0 -"),
    "nothing lendable, nothing counted": ("cpu=5", "cpu=0", "1", "0 -"),
    "nothing lendable does not hide another": ("cpu=5 gpu=1", "gpu=4", "1", "250 gpu"),
}


def amounts(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (word.split("=") for word in text.split())}


@pytest.mark.parametrize(
    ("borrowed", "lendable", "weight", "expected"), SHARES.values(), ids=SHARES.keys()
)
def test_the_share_is_the_worst_ratio_by_weight(
    borrowed: str, lendable: str, weight: str, expected: str
) -> None:
    share = dominant_share(amounts(borrowed), amounts(lendable), Decimal(weight))
    value, resource = expected.split()
    assert share.share == float(value)
    assert share.dominant == (None if resource == "-" else resource)
    assert share.borrowing == bool(borrowed)


def test_the_ratio_is_kueues_to_the_last_bit() -> None:
    # Multiplying first and dividing second is not the same as the reverse.
    assert borrowing_ratio(2, 9) == 2000.0 / 9.0
    assert borrowing_ratio(2, 9) != 2.0 / 9.0 * 1000.0
    # Amounts beyond 2**53 are rounded to floats one by one, before they meet.
    large = 2**53 + 1
    assert borrowing_ratio(large, 11) == float(2**53) * 1000.0 / 11.0
    assert borrowing_ratio(large, 11) != large * 1000 / 11


@pytest.mark.parametrize(
    ("borrowed", "lendable", "weight", "status"),
    [(0, 10, "1", 0), (1, 10, "1", 100), (1, 11, "1", 91), (1, 10, "0", LARGEST_STATUS)],
)
def test_the_status_is_rounded_up_and_never_wraps(
    borrowed: int, lendable: int, weight: str, status: int
) -> None:
    share = dominant_share({"cpu": borrowed}, {"cpu": lendable}, Decimal(weight))
    assert share.weighted_share_status == status


def node(
    name: str, parent: str | None, weight: str, nominal: dict[int, int], axes: int
) -> QuotaNode:
    return QuotaNode(
        name=name,
        parent=parent,
        weight=Decimal(weight),
        guaranteed=tuple(nominal.get(axis, 0) for axis in range(axes)),
        borrow_limit=(None,) * axes,
        lend_limit=(None,) * axes,
        listed=frozenset(nominal),
    )


def test_flavors_of_a_resource_are_summed_without_offset() -> None:
    # q: 6 - 4 = 2 over on the first flavor, 1 of 5 used on the second: 2 borrowed, not 0.
    # The top could use 4 + 5 + 11 = 20 gpus of both flavors: 2 x 1000 / 20 = 100.
    nodes = [
        node("top", None, "1", {}, 2),
        node("q", "top", "1", {0: 4, 1: 5}, 2),
        node("r", "top", "1", {1: 11}, 2),
    ]
    tree = QuotaTree(["gpu", "gpu"], nodes, {"q": (6, 1), "r": (0, 0)})
    assert tree.borrowed("q") == {"gpu": 2}
    assert tree.lendable("q") == {"gpu": 20}
    assert tree.dominant_share("q").share == 100.0


def test_an_axis_that_the_node_does_not_list_is_not_counted() -> None:
    # Both use one gpu. q lists gpu with 0 and so borrows it; r does not list it at all.
    nodes = [
        node("top", None, "1", {0: 9, 1: 4}, 2),
        node("q", "top", "1", {0: 1, 1: 0}, 2),
        node("r", "top", "1", {0: 1}, 2),
    ]
    tree = QuotaTree(["cpu", "gpu"], nodes, {"q": (0, 1), "r": (0, 1)})
    assert tree.dominant_share("q").share == 250.0
    assert tree.dominant_share("r") == DominantShare(
        ratio=0.0, weight=Decimal(1), share=0.0, dominant=None, borrowing=False
    )
    assert tree.borrows_any("r", [1])


def test_a_root_has_nobody_to_borrow_from() -> None:
    tree = QuotaTree(["cpu"], [node("q", None, "1", {0: 1}, 1)], {"q": [5]})
    assert tree.dominant_share("q").borrowing is False
    assert tree.dominant_shares()["q"].share == 0.0
    assert tree.lendable("q") == {}


@given(world=quota_worlds())
def test_all_shares_at_once_equal_the_formulas(world: QuotaWorld) -> None:
    reference = ReferenceTree(world.axis_resources, world.nodes, world.usage)
    expected = {node.name: reference.dominant_share(node.name) for node in world.nodes}
    assert world.tree().dominant_shares() == expected


@given(world=quota_worlds())
def test_one_share_equals_its_entry_among_all(world: QuotaWorld) -> None:
    tree = world.tree()
    assert {node.name: tree.dominant_share(node.name) for node in world.nodes} == (
        tree.dominant_shares()
    )


@given(world=quota_worlds(), data=st.data())
def test_shares_follow_usage_and_come_back_after_a_trial(
    world: QuotaWorld, data: st.DataObject
) -> None:
    tree = world.tree()
    before = tree.dominant_shares()
    leaf = data.draw(st.sampled_from(world.leaves))
    request = data.draw(world.amounts())
    tree.charge(leaf, request)
    # A leaf that uses more never has a lower share, since what can be lent does not change.
    assert tree.dominant_share(leaf).rank >= before[leaf].rank
    tree.discharge(leaf, request)
    assert tree.dominant_shares() == before


@pytest.mark.exhaustive
@given(world=quota_worlds(), data=st.data())
def test_a_remembered_rank_is_never_out_of_date(world: QuotaWorld, data: st.DataObject) -> None:
    """After any charges, taken back or not, whichever ranks were asked for in between."""
    tree = world.tree()
    names = [node.name for node in world.nodes]
    asked = st.sets(st.sampled_from(names))
    step = st.tuples(st.sampled_from(world.leaves), world.amounts(), st.booleans(), asked)
    for leaf, amounts, is_trial, to_ask in data.draw(st.lists(step, max_size=6)):
        tree.charge(leaf, amounts)
        for name in to_ask:
            tree.rank(name)
        if is_trial:
            tree.discharge(leaf, amounts)
    usage = {leaf: tree.charged(leaf) for leaf in world.leaves}
    anew = ReferenceTree(world.axis_resources, world.nodes, usage)
    for name in names:
        assert tree.rank(name) == anew.dominant_share(name).rank
        assert tree.dominant_share(name) == anew.dominant_share(name)


@given(world=quota_worlds(), data=st.data())
def test_a_prospect_is_what_a_charge_would_bring(world: QuotaWorld, data: st.DataObject) -> None:
    tree = world.tree()
    leaf = data.draw(st.sampled_from(world.leaves))
    amounts = data.draw(world.amounts())
    parents = {node.name: node.parent for node in world.nodes}
    name: str | None = leaf
    more = tuple(enumerate(amounts))
    prospects = {}
    while name is not None:
        prospects[name] = tree.prospect(name, more)
        more, name = prospects[name].noticed, parents[name]
    before = {node.name: tree.charged(node.name) for node in world.nodes}
    assert before == {node.name: world.tree().charged(node.name) for node in world.nodes}

    tree.charge(leaf, amounts)
    for name, prospect in prospects.items():
        parent = parents[name]
        if parent is None:
            assert prospect == Prospect(False, tree.rank(name), ())
            continue
        assert prospect.rank == tree.rank(name)
        assert prospect.borrows == tree.borrows_any(name, tree.listed(name))
        seen = zip(tree.charged(parent), before[parent], strict=True)
        assert prospect.noticed == tuple(enumerate(now - was for now, was in seen))


def test_only_borrowing_on_what_more_is_used_of_counts_in_a_prospect() -> None:
    nodes = [node("top", None, "1", {0: 9, 1: 9}, 2), node("q", "top", "1", {0: 1, 1: 1}, 2)]
    tree = QuotaTree(["cpu", "gpu"], nodes, {"q": (0, 5)})
    assert not tree.prospect("q", [(0, 1)]).borrows
    assert tree.prospect("q", [(0, 2)]).borrows
    assert tree.prospect("q", [(1, 0)]).borrows
    assert tree.prospect("q", []) == Prospect(False, tree.rank("q"), ())


shares = st.builds(
    dominant_share,
    st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 4)),
    st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 4)),
    st.sampled_from(WEIGHTS),
)


@given(a=shares, b=shares)
def test_ranks_compare_as_the_rule_is_told(a: DominantShare, b: DominantShare) -> None:
    assert (a.rank > b.rank) - (a.rank < b.rank) == compare(a, b)


@given(trio=st.tuples(shares, shares, shares))
def test_the_order_is_total(trio: tuple[DominantShare, DominantShare, DominantShare]) -> None:
    for a, b in itertools.permutations(trio, 2):
        assert compare(a, b) == -compare(b, a)
        assert a.rank <= b.rank or b.rank <= a.rank
    for a, b, c in itertools.permutations(trio):
        if compare(a, b) <= 0 and compare(b, c) <= 0:
            assert compare(a, c) <= 0
            assert a.rank <= c.rank


def test_weightless_borrowers_come_last_and_by_their_ratio() -> None:
    little = dominant_share({"cpu": 1}, {"cpu": 1000}, Decimal(0))
    more = dominant_share({"cpu": 2}, {"cpu": 1000}, Decimal(0))
    huge = dominant_share({"cpu": 10**9}, {"cpu": 1}, Decimal("0.001"))
    idle = dominant_share({}, {}, Decimal(0))
    assert math.isinf(little.share)
    assert sorted([more, huge, little, idle], key=lambda s: s.rank) == [idle, huge, little, more]


@pytest.mark.parametrize(
    ("weight", "share1000", "status"),
    [(1, 200, "passed"), (0.5, 400, "passed"), (0, "inf", "passed"), (1, 201, "failed")],
)
def test_a_published_share_is_checked_exactly(
    weight: float, share1000: object, status: str
) -> None:
    given = {"usage": 7, "nominal": 5, "lendable": 10, "weight": weight}
    entry = {"id": "e", "kind": "drs", "input": given, "tolerance": 0}
    [outcome] = published_kueue.check({**entry, "expected": {"share1000": share1000}})
    assert outcome.status == status


@pytest.mark.parametrize("entry", [{}, {"kind": "drs"}, {"kind": "drs", "input": {"usage": 1}}])
def test_a_malformed_published_entry_fails_with_the_reason(entry: dict[str, object]) -> None:
    [outcome] = published_kueue.check(entry)
    assert outcome.status == "failed"
    assert outcome.note.startswith("malformed")
