"""Quantities are read exactly, counted in base units, and written back without loss."""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import FairleadError, QuantityError
from fairlead.model.quantity import (
    base_units,
    format_amount,
    parse_quantity,
    scale_of,
    show_amount,
)

# Every form that Kubernetes accepts, with its value written out as a fraction.
FORMS = """
    100m      1/10
    1.5       3/2
    2Gi       2147483648
    1e3       1000
    5n        1/200000000
    5u        1/200000
    0.1u      1/10000000
    .5        1/2
    5.        5
    +1        1
    -1        -1
    -.5       -1/2
    -2.5Ki    -2560
    1E        1000000000000000000
    1E3       1000
    1e+3      1000
    12e-3     3/250
    1.5E-1    3/20
    7Ki       7168
    7Mi       7340032
    7Ti       7696581394432
    7Pi       7881299347898368
    7Ei       8070450532247928832
    7k        7000
    7M        7000000
    7G        7000000000
    7T        7000000000000
    7P        7000000000000000
    7E        7000000000000000000
    0         0
    -0        0
    007       7
    1e99      1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
"""  # noqa: E501 - the last row is 10^99, in full

REFUSED = [
    *("", " ", ".", "+", "-", "m", "Gi", "e3", "1e", "1e+", "1e1.5", "1e3Ki", "1Kim"),
    *("1 Gi", " 1", "1 ", "1\n", "1_000", "1,5", "1K", "1g", "1ki", "1GI", "1Gib", "1mm"),
    *("--1", "+-1", "1.2.3", "0x10", "inf", "nan", "NaN", "\u0661", "1µ", "1/2", "ten"),
]

ABSURD = ["1e100", "1e-100", "1e999999999", "1e-999999999", "9" * 65, "1e" + "9" * 60, "1" * 10**6]


@pytest.mark.parametrize("row", FORMS.strip().splitlines())
def test_every_form_of_a_quantity_is_read_exactly(row: str) -> None:
    text, value = row.split()
    assert parse_quantity(text) == Fraction(value)


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_and_the_message_names_it(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)
    assert "expected a quantity such as 500m" in str(caught.value)


@pytest.mark.parametrize("text", ABSURD, ids=lambda text: text[:12])
def test_absurd_sizes_are_refused_without_being_computed_or_repeated(text: str) -> None:
    with pytest.raises(QuantityError, match="expected") as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 200


def test_a_quantity_error_is_both_ours_and_a_value_error() -> None:
    assert issubclass(QuantityError, FairleadError)
    assert issubclass(QuantityError, ValueError)


# What is finer than the base unit is rounded away from zero.
COUNTED = """
    resource             text     units       exact
    cpu                  1        1000        yes
    cpu                  100m     100         yes
    cpu                  0.1      100         yes
    cpu                  1u       1           no
    cpu                  1.0001   1001        no
    cpu                  -1.0001  -1001       no
    gpu                  0.5      500         yes
    nvidia.com/gpu       2        2000        yes
    amd.com/gpu          0.3333   334         no
    memory               1Gi      1073741824  yes
    memory               100m     1           no
    memory               1.5      2           no
    memory               -1.5     -2          no
    memory               0        0           yes
    pods                 110      110         yes
    example.com/gpus     3        3           yes
    hugepages-2Mi        4Mi      4194304     yes
"""


@pytest.mark.parametrize("row", COUNTED.strip().splitlines()[1:])
def test_amounts_are_counted_in_the_base_unit_of_their_resource(row: str) -> None:
    resource, text, units, exact = row.split()
    assert base_units(resource, parse_quantity(text)) == (int(units), exact == "yes")


# canonical: what Kubernetes would write. people: what a table shows.
WRITTEN = """
    resource           units           canonical       people
    cpu                1500            1500m           1.5
    cpu                2000            2               2
    cpu                2000000         2k              2000
    cpu                1               1m              0.001
    cpu                0               0               0
    cpu                -1500           -1500m          -1.5
    cpu                -1000           -1              -1
    gpu                500             500m            0.5
    nvidia.com/gpu     8000            8               8
    nvidia.com/gpu     1250            1250m           1.25
    memory             0               0               0
    memory             17179869184     16Gi            16Gi
    memory             1610612736      1536Mi          1536Mi
    memory             1024            1Ki             1Ki
    memory             1000            1000            1k
    memory             1536            1536            1536
    memory             1500000000      1500000000      1500M
    memory             1024000         1000Ki          1000Ki
    memory             -1073741824     -1Gi            -1Gi
    ephemeral-storage  2097152         2Mi             2Mi
    hugepages-1Gi      1073741824      1Gi             1Gi
    pods               110             110             110
    pods               1000            1k              1000
    pods               1024            1024            1024
"""


@pytest.mark.parametrize("row", WRITTEN.strip().splitlines()[1:])
def test_amounts_are_written_for_machines_and_for_people(row: str) -> None:
    resource, units, canonical, people = row.split()
    assert format_amount(resource, int(units)) == canonical
    assert show_amount(resource, int(units)) == people


def test_people_see_a_dash_where_there_is_no_limit() -> None:
    assert show_amount("cpu", None) == "-"


resources = st.sampled_from(["cpu", "gpu", "nvidia.com/gpu", "memory", "hugepages-2Mi", "pods"])
amounts = st.integers(-(2**63), 2**63) | st.builds(
    lambda number, size: number * size,
    st.integers(-5000, 5000),
    st.sampled_from([10**3, 10**6, 10**9, 10**12, 2**10, 2**20, 2**30, 2**40, 2**50]),
)


@given(resource=resources, amount=amounts)
def test_whatever_is_written_reads_back_as_the_same_amount(resource: str, amount: int) -> None:
    for write in (format_amount, show_amount):
        assert base_units(resource, parse_quantity(write(resource, amount))) == (amount, True)


@given(resource=resources, value=st.fractions())
def test_a_count_is_never_less_than_was_asked_nor_a_whole_unit_more(
    resource: str, value: Fraction
) -> None:
    units, exact = base_units(resource, value)
    distance = abs(units) - abs(value) * scale_of(resource)
    assert 0 <= distance < 1
    assert exact == (distance == 0)
    assert units * value >= 0


def plain_value(text: str) -> Fraction:
    """Read a quantity the long way: take the suffix off, and let Decimal read the rest."""
    powers = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
    for position, suffix in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], start=1):
        if text.endswith(suffix):
            return Fraction(Decimal(text[:-2])) * (1 << 10 * position)
    if text[-1] in powers:
        return Fraction(Decimal(text[:-1] + f"e{powers[text[-1]]}"))
    return Fraction(Decimal(text))


numbers = st.from_regex(r"[+-]?([0-9]{1,20}(\.[0-9]{0,9})?|\.[0-9]{1,9})", fullmatch=True)
suffixes = st.sampled_from(
    ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "e-7", "E+12"]
)


@given(number=numbers, suffix=suffixes)
def test_reading_equals_the_plain_reference(number: str, suffix: str) -> None:
    text = number + suffix
    assert parse_quantity(text) == plain_value(text)


@given(st.text(max_size=80) | st.text("0123456789.+-eEinumkKMGTP", max_size=20))
def test_no_text_raises_anything_but_a_quantity_error(text: str) -> None:
    with suppress(QuantityError):
        parse_quantity(text)
