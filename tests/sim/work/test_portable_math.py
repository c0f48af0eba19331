"""Logarithms and exponentials against exact arithmetic, and the very bits that they must have."""

from decimal import Context, Decimal
from math import isclose, ulp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.work.portable_math import (
    exp,
    log,
    normal_below,
    normal_from,
    power_of,
)

EXACT = Context(prec=50)


@given(x=st.floats(1e-300, 1e300))
def test_log_is_right_to_the_last_places(x: float) -> None:
    exact = EXACT.ln(Decimal(x))
    assert abs(Decimal(log(x)) - exact) <= 4 * Decimal(ulp(float(exact)))


@given(x=st.floats(-700, 700))
def test_exp_is_right_to_the_last_places(x: float) -> None:
    exact = EXACT.exp(Decimal(x))
    assert abs(Decimal(exp(x)) - exact) <= 4 * Decimal(ulp(float(exact)))


BITS = {
    "log(0.1)": (log(0.1), "-0x1.26bb1bbb55515p+1"),
    "log(3)": (log(3.0), "0x1.193ea7aad030ap+0"),
    "log(1e17)": (log(1e17), "0x1.3926cd770aa67p+5"),
    "exp(1)": (exp(1.0), "0x1.5bf0a8b14576ap+1"),
    "exp(-10)": (exp(-10.0), "0x1.7cd79b5647c9bp-15"),
    "exp(33.3)": (exp(33.3), "0x1.078401f5a3ec8p+48"),
}


@pytest.mark.parametrize(("found", "bits"), BITS.values(), ids=BITS.keys())
def test_every_machine_computes_these_bits(found: float, bits: str) -> None:
    assert found.hex() == bits


def test_ends_are_where_they_should_be() -> None:
    assert log(1.0) == 0.0
    assert exp(0.0) == 1.0
    assert exp(-701.0) == 0.0
    assert power_of(0.0, 3.0) == 0.0
    assert power_of(2.0, 1e9) == exp(700.0)
    assert isclose(power_of(9.0, -0.5), 1 / 3, rel_tol=1e-15)


@pytest.mark.parametrize(
    ("deviations", "part"),
    [
        (-9.0, 0.0),
        (-1.959963984540054, 0.025),
        (-1.0, 0.15865525393145707),
        (0.0, 0.5),
        (1.959963984540054, 0.975),
        (9.0, 1.0),
    ],
)
def test_the_part_of_a_normal_distribution_below(deviations: float, part: float) -> None:
    assert isclose(normal_below(deviations), part, abs_tol=1e-15)


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (1.0, 0.0), (0.8, 0.7)])
def test_a_point_outside_of_the_circle_or_at_its_centre_is_drawn_again(
    first: float, second: float
) -> None:
    assert normal_from(first, second) is None


def test_a_point_in_the_circle_gives_a_deviate() -> None:
    """0.5 * sqrt(-2 ln(0.5) / 0.5) = 0.5 * sqrt(2.7726) = 0.83255."""
    assert isclose(normal_from(0.5, 0.5) or 0.0, 0.8325546111576977, rel_tol=1e-15)
    assert normal_from(-0.5, 0.5) == -(normal_from(0.5, 0.5) or 0.0)
