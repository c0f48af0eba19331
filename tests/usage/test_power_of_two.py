"""Two to the power of a fraction is right to the last of its seventy-two bits."""

from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fairlead.usage.timeline import LN2, POWER_BITS, power_of_two

wholes = st.integers(1, 10**13)


def test_the_logarithm_of_two_is_the_sum_of_its_series() -> None:
    """The sum of 1 / (k * 2**k); what is left out after 120 terms is below 2**-120."""
    series = sum(Fraction(1, k * 2**k) for k in range(1, 121))
    assert round(series * 2**POWER_BITS) == LN2


def test_nothing_and_a_half_are_known() -> None:
    assert power_of_two(0, 7) == 2**POWER_BITS
    root = power_of_two(1, 2)
    assert (root - 1) ** 2 < 2 * 4**POWER_BITS < (root + 2) ** 2


@given(whole=wholes, data=st.data())
def test_it_is_within_one_of_the_exact_power(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole - 1))
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(2) ** (Decimal(part) / whole) * 2**POWER_BITS
        assert abs(power_of_two(part, whole) - exact) <= 1


@given(whole=wholes, data=st.data())
def test_a_larger_part_is_never_less(whole: int, data: st.DataObject) -> None:
    parts = st.integers(0, whole - 1)
    less, more = sorted([data.draw(parts), data.draw(parts)])
    assert power_of_two(less, whole) <= power_of_two(more, whole)
