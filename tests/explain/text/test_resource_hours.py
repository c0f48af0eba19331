"""Resource-time as hours: exact, and written to three decimals."""

import pytest

from fairlead.explain.text.measures import hours_text, hours_unit, resource_hours
from tests.text_table import rows

HOUR_MS = 3_600_000

TIMES = """
    resource        amount       hours  text      unit
    nvidia.com/gpu  2000         50     100       GPU-h
    gpu             500          1      0.5       GPU-h
    cpu             1500         2      3         core-h
    memory          17179869184  10     160       GiB-h
    memory          1            1      0         GiB-h
    example.com/fpga 3           2      6         h
    cpu             -250         1      -0.25     core-h
    cpu             1            100    0.1       core-h
"""


@pytest.mark.parametrize("row", rows(TIMES), ids=lambda row: f"{row['amount']} {row['resource']}")
def test_amount_times_hours(row: dict[str, str]) -> None:
    time = int(row["amount"]) * int(row["hours"]) * HOUR_MS
    assert hours_text(row["resource"], time) == row["text"]
    assert hours_unit(row["resource"]) == row["unit"]


def test_long_times_keep_all_their_digits() -> None:
    """A float would show 10^20 + 1 GPU-hours without the 1."""
    hours = 10**20 + 1
    assert resource_hours("gpu", hours * 1000 * HOUR_MS) == hours
    assert hours_text("gpu", hours * 1000 * HOUR_MS) == str(hours)
