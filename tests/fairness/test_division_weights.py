"""Weights on a common whole scale, before and after usage."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division_weights import (
    common_scale,
    net_share_weights,
    usage_terms,
)

weights = st.lists(st.decimals(0, 1000, places=6), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("decimals", "whole"),
    [
        (["0.5", "2", "0"], [1, 4, 0]),
        (["0.1", "0.2", "0.3"], [1, 2, 3]),
        (["100", "50"], [2, 1]),
        (["1e3", "1E-3"], [1_000_000, 1]),
        (["0", "0.0"], [0, 0]),
        # More digits than a decimal context keeps.
        (["1.0000000000000000000000000000000001", "1"], [10**34 + 1, 10**34]),
        ([], []),
    ],
)
def test_decimals_become_the_smallest_whole_numbers_in_their_ratio(
    decimals: list[str], whole: list[int]
) -> None:
    assert common_scale([Decimal(text) for text in decimals]) == whole


@given(decimals=weights)
def test_the_ratio_of_every_two_weights_is_kept_exactly(decimals: list[Decimal]) -> None:
    whole = common_scale(decimals)
    for mine, my_decimal in zip(whole, decimals, strict=True):
        for other, other_decimal in zip(whole, decimals, strict=True):
            assert mine * Fraction(other_decimal) == other * Fraction(my_decimal)


@given(
    rows=st.lists(
        st.tuples(st.integers(1, 100), st.integers(0, 2 * 10**9)), min_size=1, max_size=6
    ),
    k=st.fractions(-1, 5, max_denominator=12),
)
def test_share_weights_are_the_formula_on_one_whole_scale(
    rows: list[tuple[int, int]], k: Fraction
) -> None:
    total = sum(weight for weight, _ in rows)
    counted = max(Fraction(0), k)
    formula = []
    for weight, usage_e9 in rows:
        part, usage = Fraction(weight, total), Fraction(usage_e9, 10**9)
        formula.append(max(Fraction(0), part + counted * (part - usage)))
    terms = usage_terms([weight for weight, _ in rows], [usage for _, usage in rows], k)
    whole = net_share_weights(*terms, total)
    assert [weight * sum(formula) for weight in whole] == [sum(whole) * each for each in formula]


def test_the_published_example_of_a_large_k() -> None:
    """Parts of 10000/10001 and 1/10001, usage 1 and 0: 10000 - 100 * 1 against 1 + 100 * 1."""
    terms = usage_terms([10_000, 1], [10**9, 0], Fraction(100))
    heavy, light = net_share_weights(*terms, 10_001)
    assert Fraction(heavy, light) == Fraction(10_000 - 100, 101)
