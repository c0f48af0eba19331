"""Fair shares of whole trees: the recursion, the order of siblings, and cheap changes."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division import Claim, divide
from fairlead.fairness.division_steps import FinalStep
from fairlead.fairness.division_tree import (
    DivisionTree,
    ShareQueue,
    fair_shares,
    sibling_division,
)
from tests.fairness.division_cases import claims, strengths
from tests.fairness.reference_division import reference_fair_shares

UNITS = (1, 10)
totals = st.tuples(st.integers(0, 200), st.integers(0, 200))


@st.composite
def trees(draw: st.DrawFn) -> list[ShareQueue]:
    """Up to nine queues, each below an earlier one or at the top; ages and priorities repeat."""
    queues: list[ShareQueue] = []
    for number in range(draw(st.integers(1, 9))):
        parents = st.sampled_from([None, *(queue.name for queue in queues)])
        queues.append(
            ShareQueue(
                name=f"q{number}",
                parent=draw(parents),
                priority=draw(st.sampled_from([50, 100])),
                created_ms=draw(st.integers(0, 2)),
                claims=draw(st.tuples(claims, claims)),
            )
        )
    return queues


def shares_of(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction
) -> dict[str, tuple[int, ...]]:
    return fair_shares(DivisionTree.from_queues(queues), total, units=UNITS, k=k)


def wants(requested: int, *, ceiling: int | None = None, weight: int = 1) -> Claim:
    return Claim(guaranteed=0, ceiling=ceiling, weight=weight, requested=requested)


def queue(name: str, parent: str | None, claim: Claim, created_ms: int = 0) -> ShareQueue:
    return ShareQueue(
        name=name, parent=parent, priority=100, created_ms=created_ms, claims=(claim,)
    )


@given(queues=trees(), total=totals, k=strengths)
def test_a_tree_equals_the_plain_recursion(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction
) -> None:
    assert shares_of(queues, total, k) == reference_fair_shares(queues, total, UNITS, k)


@given(queues=trees(), total=totals, k=strengths, data=st.data())
def test_listing_queues_in_another_order_changes_nothing(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(queues))
    assert shares_of(shuffled, total, k) == shares_of(queues, total, k)


@given(queues=trees(), total=totals, k=strengths)
def test_renaming_that_keeps_the_order_of_names_changes_nothing(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction
) -> None:
    renamed = [
        msgspec.structs.replace(
            each, name=f"team-{each.name}-x", parent=each.parent and f"team-{each.parent}-x"
        )
        for each in queues
    ]
    before = shares_of(queues, total, k)
    assert shares_of(renamed, total, k) == {f"team-{name}-x": row for name, row in before.items()}


@given(queues=trees(), total=totals, k=strengths)
def test_one_level_equals_the_flat_call(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction
) -> None:
    flat = [msgspec.structs.replace(each, parent=None) for each in queues]
    shares = shares_of(flat, total, k)
    by_age = sorted(range(len(flat)), key=lambda i: (flat[i].created_ms, flat[i].name))
    levels = [[i for i in by_age if flat[i].priority == priority] for priority in (100, 50)]
    for axis, (amount, unit) in enumerate(zip(total, UNITS, strict=True)):
        column = [each.claims[axis] for each in flat]
        expected = divide(amount, column, levels, unit=unit, k=k)
        assert [shares[each.name][axis] for each in flat] == expected


@given(queues=trees(), total=totals, k=strengths)
def test_the_division_of_one_group_shows_what_the_tree_used(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction
) -> None:
    tree = DivisionTree.from_queues(queues)
    shares = fair_shares(tree, total, units=UNITS, k=k)
    for parent in tree.groups:
        amounts = total if parent is None else shares[parent]
        for axis, amount in enumerate(amounts):
            shown = sibling_division(tree, parent, amount, axis=axis, unit=UNITS[axis], k=k)
            assert shown.shares == tuple(shares[name][axis] for name in shown.siblings)
            assert isinstance(shown.steps[-1], FinalStep)
            assert shown.steps[-1].shares == shown.shares
            assert set(shown.siblings) == {each.name for each in queues if each.parent == parent}


def test_children_divide_the_fair_share_even_where_the_ceiling_is_lower() -> None:
    """Half a device each for two queues that may hold 0.7: the left-over unit makes it 1.

    The child of that queue then divides the whole device, not the 0.7.
    """
    queues = [
        queue("a", None, wants(9000, ceiling=700)),
        queue("b", None, wants(9000, ceiling=700)),
        queue("a-child", "a", wants(9000)),
    ]
    shares = fair_shares(DivisionTree.from_queues(queues), (1000,), units=(1000,), k=Fraction(0))
    assert shares == {"a": (1000,), "b": (0,), "a-child": (1000,)}


def test_equal_fractions_go_to_the_older_then_to_the_first_name() -> None:
    """10/3 each: one unit is left for one of three."""
    by_name = [queue(name, None, wants(10)) for name in ("c", "b", "a")]
    by_age = [*by_name[1:], queue("z", None, wants(10), created_ms=-1)]
    k = Fraction(0)
    assert fair_shares(DivisionTree.from_queues(by_name), (10,), units=(1,), k=k)["a"] == (4,)
    assert fair_shares(DivisionTree.from_queues(by_age), (10,), units=(1,), k=k)["z"] == (4,)


def test_siblings_are_listed_by_priority_age_and_name() -> None:
    low = ShareQueue(name="low", parent=None, priority=1, created_ms=0, claims=(wants(1),))
    queues = [low, queue("b", None, wants(1)), queue("a", None, wants(1))]
    tree = DivisionTree.from_queues(queues)
    shown = sibling_division(tree, None, 3, axis=0, unit=1, k=Fraction(0))
    assert shown.siblings == ("a", "b", "low")
    assert shown.priorities == (100, 1)


def test_an_empty_tree_has_no_shares() -> None:
    assert fair_shares(DivisionTree.from_queues([]), (5, 5), units=UNITS, k=Fraction(0)) == {}


@pytest.mark.parametrize(
    ("queues", "complaint"),
    [
        ([queue("a", None, wants(1)), queue("a", None, wants(1))], "two queues are named a"),
        ([queue("a", "missing", wants(1))], "no way from the top"),
        ([queue("a", "b", wants(1)), queue("b", "a", wants(1))], "no way from the top"),
    ],
    ids=["a name twice", "a parent that is not there", "a cycle"],
)
def test_what_readers_must_refuse_is_asserted(queues: list[ShareQueue], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        DivisionTree.from_queues(queues)
