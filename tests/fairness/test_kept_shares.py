"""Shares that are kept up to date are those that a division of the whole tree gives."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import DivisionTree, ShareQueue, fair_shares
from fairlead.fairness.kept_shares import KeptShares
from tests.fairness.division_cases import strengths
from tests.fairness.test_division_tree import UNITS, totals, trees

Requests = dict[str, tuple[int, int]]
NO_HISTORY = Fraction(0)
amounts = st.integers(0, 12) | st.integers(0, 60) | st.integers(0, 500)


def plain(
    queues: list[ShareQueue], total: tuple[int, ...], k: Fraction = NO_HISTORY
) -> dict[str, tuple[int, ...]]:
    return fair_shares(DivisionTree.from_queues(queues), total, units=UNITS, k=k)


def with_row(queue: ShareQueue, field: str, row: tuple[int, ...] | None) -> ShareQueue:
    """The same queue with another number in a field of each claim."""
    if row is None:
        return queue
    pairs = zip(queue.claims, row, strict=True)
    claims = tuple(msgspec.structs.replace(claim, **{field: each}) for claim, each in pairs)
    return msgspec.structs.replace(queue, claims=claims)


@pytest.mark.exhaustive
@given(queues=trees(), first=totals, data=st.data())
def test_after_every_change_all_shares_are_those_of_a_new_division(
    queues: list[ShareQueue], first: tuple[int, ...], data: st.DataObject
) -> None:
    kept = KeptShares(DivisionTree.from_queues(queues), first, units=UNITS)
    before = plain(queues, first)
    assert kept.shares() == before
    names = st.sampled_from([queue.name for queue in queues])
    steps = st.tuples(
        st.dictionaries(names, st.tuples(amounts, amounts), max_size=3), st.just(first) | totals
    )
    for requested, total in data.draw(st.lists(steps, min_size=1, max_size=6)):
        queues = [with_row(queue, "requested", requested.get(queue.name)) for queue in queues]
        changed = kept.change(requested, total)
        after = plain(queues, total)
        assert kept.shares() == after
        assert changed == {name: row for name, row in after.items() if row != before[name]}
        before = after


@pytest.mark.exhaustive
@given(queues=trees(), total=totals, data=st.data())
def test_so_it_is_where_past_use_counts(
    queues: list[ShareQueue], total: tuple[int, ...], data: st.DataObject
) -> None:
    queues = [with_row(queue, "usage_e9", (0, 0)) for queue in queues]
    kept = KeptShares(DivisionTree.from_queues(queues), total, units=UNITS)
    before = plain(queues, total)
    names = st.sampled_from([queue.name for queue in queues])
    used = st.just(0) | st.integers(0, 10**9)
    steps = st.tuples(
        st.dictionaries(names, st.tuples(amounts, amounts), max_size=3),
        st.dictionaries(names, st.tuples(used, used), max_size=3),
        strengths,
    )
    for requested, usages, k in data.draw(st.lists(steps, min_size=1, max_size=6)):
        queues = [with_row(queue, "requested", requested.get(queue.name)) for queue in queues]
        queues = [with_row(queue, "usage_e9", usages.get(queue.name)) for queue in queues]
        changed = kept.change(requested, total, usages_e9=usages, k=k)
        after = plain(queues, total, k)
        assert kept.shares() == after
        assert changed == {name: row for name, row in after.items() if row != before[name]}
        before = after


def siblings(*requested: int, weights: tuple[int, ...] = (1, 1, 1)) -> list[ShareQueue]:
    return [
        ShareQueue(
            name=name,
            parent=None,
            priority=100,
            created_ms=0,
            claims=(Claim(guaranteed=0, ceiling=None, weight=weight, requested=each),),
        )
        for name, weight, each in zip("abc", weights, requested, strict=True)
    ]


def test_who_lacks_something_may_ask_for_more_and_nobody_is_told_of_a_change() -> None:
    """12 among three who want 2, 9 and 9: 2, 5 and 5. Then a wants 4: 4 each."""
    kept = KeptShares(DivisionTree.from_queues(siblings(2, 9, 9)), [12], units=[1])
    assert kept.shares() == {"a": (2,), "b": (5,), "c": (5,)}
    assert kept.change({"b": [100], "c": [6]}, [12]) == {}
    assert kept.change({"a": [4]}, [12]) == {"a": (4,), "b": (4,), "c": (4,)}


def test_who_asks_for_less_than_a_unit_more_than_it_has_may_get_it() -> None:
    """3 of a device of 10 by 1 to 2: no whole device for anybody, and b has the larger fraction.

    When a wants 1 instead of 2, its portion of 1 is all it needs, and it is not rounded.
    """
    queues = siblings(2, 3, 0, weights=(1, 2, 1))
    kept = KeptShares(DivisionTree.from_queues(queues), [3], units=[10])
    assert kept.shares() == {"a": (0,), "b": (3,), "c": (0,)}
    assert kept.change({"a": [1]}, [3]) == {"a": (1,), "b": (2,)}


def test_without_leftovers_equal_siblings_have_equal_shares() -> None:
    """16 among three who want 16: 5 each, and the one that is left is for none of them."""
    tree = DivisionTree.from_queues(siblings(16, 16, 16))
    kept = KeptShares(tree, [16], units=[1], leftovers=False)
    assert kept.shares() == {"a": (5,), "b": (5,), "c": (5,)}


def test_no_queues_have_no_shares() -> None:
    kept = KeptShares(DivisionTree.from_queues([]), [12], units=[1])
    assert kept.change({}, [5]) == kept.shares() == {}
