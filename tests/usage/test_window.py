"""Where windows begin: on a grid, or when a cron expression last fired, also across DST."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import UsageError
from fairlead.usage.window import Cron, Sliding, Tumbling, begins_at, check_window

HOUR = 3_600_000


def ms(text: str) -> int:
    """A time of day in UTC as milliseconds."""
    return int(datetime.fromisoformat(text + "+00:00").timestamp()) * 1000


@pytest.mark.parametrize(
    ("start_ms", "now_ms", "begin_ms"),
    [
        (50, 50, 50),  # the start itself
        (50, 149, 50),  # 99 later
        (50, 150, 150),  # one length later the next one begins
        (50, 451, 450),  # 50 + 4 * 100
        (50, 49, -50),  # before the start: 50 - 1 * 100
        (50, -151, -250),  # 50 - 3 * 100
    ],
)
def test_a_tumbling_window_of_100_ms(start_ms: int, now_ms: int, begin_ms: int) -> None:
    assert begins_at(Tumbling(100, start_ms), now_ms) == begin_ms


def test_a_sliding_window_is_as_long_as_it_is() -> None:
    assert begins_at(Sliding(100), 1234) == 1134


# Berlin: on 2026-03-29 at 01:00 UTC 02:00 becomes 03:00; on 2026-10-25 at 01:00 UTC 03:00 becomes
# 02:00 again. So 00:00 in Berlin is 23:00 UTC the day before in winter, 22:00 in summer.
BERLIN = """
    expression   zone           now                  began
    0_0_*_*_*    UTC            2026-11-16T12:00:00  2026-11-16T00:00:00
    0_0_*_*_*    UTC            2026-11-16T00:00:00  2026-11-16T00:00:00
    0_0_*_*_*    UTC            2026-11-15T23:59:59  2026-11-15T00:00:00
    @daily       UTC            2026-11-15T23:59:59  2026-11-15T00:00:00
    0_0_*_*_MON  UTC            2026-11-15T23:59:59  2026-11-09T00:00:00
    0_0_1_*_*    UTC            2026-11-16T12:00:00  2026-11-01T00:00:00
    0_0_*_*_*    Europe/Berlin  2026-11-16T12:00:00  2026-11-15T23:00:00
    0_0_*_*_*    Europe/Berlin  2026-07-16T12:00:00  2026-07-15T22:00:00
    0_0_*_*_*    Europe/Berlin  2026-03-29T12:00:00  2026-03-28T23:00:00
    0_0_*_*_*    Europe/Berlin  2026-03-29T22:00:00  2026-03-29T22:00:00
    30_2_*_*_*   Europe/Berlin  2026-03-29T00:59:59  2026-03-28T01:30:00
    30_2_*_*_*   Europe/Berlin  2026-03-29T01:00:00  2026-03-29T01:00:00
    30_2_*_*_*   Europe/Berlin  2026-10-25T00:29:59  2026-10-24T00:30:00
    30_2_*_*_*   Europe/Berlin  2026-10-25T00:30:00  2026-10-25T00:30:00
    30_2_*_*_*   Europe/Berlin  2026-10-25T01:15:00  2026-10-25T00:30:00
    30_2_*_*_*   Europe/Berlin  2026-10-25T01:45:00  2026-10-25T00:30:00
    0_*_*_*_*    Europe/Berlin  2026-10-25T01:15:00  2026-10-25T01:00:00
    0_*_*_*_*    Europe/Berlin  2026-03-29T01:15:00  2026-03-29T01:00:00
"""


@pytest.mark.parametrize("row", BERLIN.strip().splitlines()[1:])
def test_a_window_by_cron_begins_at_the_last_firing(row: str) -> None:
    expression, zone, now, began = row.split()
    window = Cron(expression.replace("_", " "), zone)
    assert begins_at(window, ms(now)) == ms(began)
    assert begins_at(window, ms(now) + 999) == ms(began)  # a part of a second later


# The two days of 2026 on which Berlin's clock jumps, and the hours around them, in minutes.
minutes = st.one_of(
    st.integers(ms("2026-03-28T00:00:00") // 60_000, ms("2026-03-30T00:00:00") // 60_000),
    st.integers(ms("2026-10-24T00:00:00") // 60_000, ms("2026-10-26T00:00:00") // 60_000),
)


@settings(max_examples=60, deadline=None)
@given(minute=minutes, every=st.sampled_from([5, 15, 30]))
def test_firings_on_every_clock_time_are_those_of_a_plain_search(minute: int, every: int) -> None:
    """Every so many minutes of an hour, on any clock time: no turn of a doubled hour is missed."""
    zone = ZoneInfo("Europe/Berlin")
    expected = next(
        back
        for back in range(minute, minute - 61, -1)
        if datetime.fromtimestamp(back * 60, UTC).astimezone(zone).minute % every == 0
    )
    assert begins_at(Cron(f"*/{every} * * * *", "Europe/Berlin"), minute * 60_000) == (
        expected * 60_000
    )


@settings(max_examples=60, deadline=None)
@given(earlier=minutes, later=minutes, hour=st.integers(0, 23))
def test_a_later_window_never_begins_earlier(earlier: int, later: int, hour: int) -> None:
    earlier, later = sorted([earlier, later])
    window = Cron(f"30 {hour} * * *", "Europe/Berlin")
    first, second = begins_at(window, earlier * 60_000), begins_at(window, later * 60_000)
    assert first <= earlier * 60_000
    assert first <= second
    assert later * 60_000 - second <= 25 * HOUR


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        (Cron("0 0 * *"), "must have five fields"),
        (Cron("0 0 0 * * *"), "must have five fields"),
        (Cron("@often"), "must have five fields"),
        (Cron("99 0 * * *"), "Bad minute"),
        (Cron("0 0 30 2 *"), "Bad day-of-month"),
        (Cron("0 0 * * *", "Mars/Olympus"), "'Mars/Olympus' is not known"),
        (Cron("0 0 * * *", "../etc"), "is not known"),
        (Cron("* * */20 * 1L"), "has not fired in fifty years"),
        (Sliding(0), "it must be longer than 0"),
        (Tumbling(-5), "it must be longer than 0"),
    ],
)
def test_a_window_that_means_nothing_is_refused(window: Cron | Sliding, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_window(window)
