"""k is shown as it was written: whoever compares a file with what is told finds the same digits."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.explain.text.amounts import k_text


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(5, 2), "2.5"),
        (Fraction(1000), "1000"),
        (Fraction(1_234_567), "1234567"),
        (Fraction(12_345_678, 10**8), "0.12345678"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(1, 3), "1/3"),  # of no text that we read
    ],
)
def test_no_digit_is_lost(k: Fraction, text: str) -> None:
    assert k_text(k) == text


@given(k=st.fractions(min_value=0, max_value=10**12, max_denominator=10**12))
def test_the_text_is_the_number_again(k: Fraction) -> None:
    assert Fraction(k_text(k)) == k
