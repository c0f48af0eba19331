"""A division that is kept up to date is that of the tree as it is."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division_tree import DivisionTree, ShareQueue, fair_shares
from fairlead.fairness.standing_division import StandingDivision
from tests.fairness.division_cases import claims, strengths
from tests.fairness.test_division_tree import UNITS, queue, totals, trees, wants


@given(queues=trees(), data=st.data())
def test_each_time_the_shares_are_those_of_a_division_from_scratch(
    queues: list[ShareQueue], data: st.DataObject
) -> None:
    tree, standing = DivisionTree.from_queues(queues), StandingDivision(UNITS)
    before: dict[str, tuple[int, ...]] = {}
    for _ in range(4):
        total, k = data.draw(totals), data.draw(strengths)
        names = st.sampled_from([each.name for each in queues])
        tree = tree.with_claims(data.draw(st.dictionaries(names, st.tuples(claims, claims))))
        changed = standing.divide(tree, total, k)
        expected = fair_shares(tree, total, units=UNITS, k=k)
        assert standing.shares == expected
        assert set(changed) == {name for name in expected if expected[name] != before.get(name)}
        before = expected


def test_only_those_are_named_whose_shares_are_others() -> None:
    """A and b divide 8 by 1 : 1, and a-1 and a-2 divide what a gets."""
    tree = DivisionTree.from_queues(
        [
            queue("a", None, wants(8)),
            queue("b", None, wants(8)),
            queue("a-1", "a", wants(8)),
            queue("a-2", "a", wants(8)),
        ]
    )
    standing = StandingDivision([1])
    assert set(standing.divide(tree, [8], Fraction(0))) == {"a", "b", "a-1", "a-2"}
    assert standing.shares["a-1"] == (2,)
    tree = tree.with_claims({"a-1": [wants(1)]})
    assert standing.divide(tree, [8], Fraction(0)) == ["a-1", "a-2"]  # 1 and 3
    assert standing.divide(tree, [8], Fraction(0)) == []
