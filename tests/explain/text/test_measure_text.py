import pytest

from fairlead.explain.text.measures import change_text, length_text, measure_text, plain_text
from fairlead.sim.report.measure_rows import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0238, "0.0238"),
        (0.12345, "0.123"),
        (1.5, "1.5"),
        (12.345, "12.3"),
        (-12.0, "-12"),
        (100, "100"),
        (3412.4, "3412"),
        (1e-12, "0"),
        (-1e-12, "0"),
        (100.5, "101"),
        (-2.125, "-2.13"),
        (99.96, "100"),
        (1e30, "1000000000000000019884624838656"),
    ],
)
def test_three_digits_count(value: float, text: str) -> None:
    assert plain_text(value) == text


@pytest.mark.parametrize(
    ("length_ms", "text"),
    [
        (0, "0s"),
        (1500, "1.5s"),
        (61_000, "1m1s"),
        (3_600_000, "1h"),
        (3_629_000, "1h"),
        (5_400_000, "1h30m"),
        (86_400_000 * 1.5, "1d12h"),
        (-90_000, "-1m30s"),
        (86_399_999, "1d"),
        (3_599_600, "1h"),
        (59_999, "1m"),
        (59_940, "59.9s"),
        (90_500, "1m31s"),
        (250, "0.25s"),
        (-1e-9, "0s"),
    ],
)
def test_a_length_of_time_has_its_two_largest_units(length_ms: float, text: str) -> None:
    assert length_text(length_ms) == text


def test_each_form_has_its_text() -> None:
    gpu = shown("nvidia.com/gpu")
    assert measure_text("percent", 0.125) == "12.5%"
    assert measure_text("points", -0.125) == "-12.5 points"
    assert measure_text("count", 3) == "3"
    assert measure_text("ms", 1500) == "1.5s"
    assert measure_text("amount-time", 2_000 * 3_600_000, gpu) == "2 GPU-h"
    assert measure_text("ratio", None) == "-"


def test_a_change_has_its_sign_unless_it_is_nothing() -> None:
    gpu = shown("nvidia.com/gpu")
    assert change_text("percent", 0.0004) == "+0.04 points"
    assert change_text("percent", -0.125) == "-12.5 points"
    assert change_text("ms", 90_000) == "+1m30s"
    assert change_text("amount-time", 7_200_000_000, gpu) == "+2 GPU-h"
    assert change_text("count", 1e-12) == "0"
    assert change_text("count", 0) == "0"
    assert change_text("ratio", None) == "-"
