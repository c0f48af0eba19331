"""Where windows begin: on a grid, or when a cron expression last fired, also across DST."""

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.usage.window import (
    Cron,
    Sliding,
    TimeZoneError,
    Tumbling,
    WindowError,
    begins_at,
    check_window,
)
from tests.scale_examples import scale_examples

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


@settings(max_examples=scale_examples(60), deadline=None)
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


@settings(max_examples=scale_examples(60), deadline=None)
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
        (Cron("0 0 * * *", "Mars/Olympus"), "'Mars/Olympus', which is not known"),
        (Cron("0 0 * * *", "../etc"), "is not known"),
        (Cron("* * */20 * 1L"), "which never fires: not once in fifty years"),
        (Sliding(0), "it must be longer than 0"),
        (Tumbling(-5), "it must be longer than 0"),
    ],
)
def test_a_window_that_means_nothing_is_refused(window: Cron | Sliding, reason: str) -> None:
    with pytest.raises(WindowError, match=reason):
        check_window(window)


# What is wrong, and the beginning of the cure; a _ stands for a space.
WRONG_FIELDS = """
    expression       found                   expected                    fix
    0_0_*_*          expression_'0_0_*_*'    one_of_five_fields          write_five_fields
    0_0_0_*_*_*      expression_'0_0_0_*     one_of_five_fields          write_five_fields
    @often           expression_'@often'     one_of_five_fields          write_five_fields
    99_0_*_*_*       the_minute_'99'         0_to_59                     for_the_minute_write_0_to
    */0_0_*_*_*      the_minute_'*/0'        0_to_59                     for_the_minute_write_0_to
    0_24_*_*_*       the_hour_'24'           0_to_23                     for_the_hour_write_0_to_23
    0_9-8_*_*_*      the_hour_'9-8'          0_to_23                     for_the_hour_write_0_to_23
    0_0_0_*_*        the_day_of_month_'0'    1_to_31                     for_the_day_of_month_write
    0_0_32_2_*       the_day_of_month_'32'   1_to_31                     for_the_day_of_month_write
    0_0_30_2_*       the_day_of_month_'30'   one_that_the_month_'2'_has  write_an_earlier_day
    0_0_31_4,JUN_*   the_day_of_month_'31'   one_that_the_month_'4,JUN'  write_an_earlier_day
    0_0_*_13_*       the_month_'13'          1_to_12                     for_the_month_write_1_to_12
    0_0_*_*_8        the_day_of_week_'8'     0_to_7                      for_the_day_of_week_write
    0_0_*_*_monday   the_day_of_week_'mon    0_to_7                      for_the_day_of_week_write
    99_99_*_*_*      the_minute_'99'         0_to_59                     for_the_minute_write_0_to
"""


@pytest.mark.parametrize("row", WRONG_FIELDS.strip().splitlines()[1:])
def test_the_field_that_is_wrong_is_named_with_what_may_stand_there(row: str) -> None:
    expression, found, expected, fix = (each.replace("_", " ") for each in row.split())
    with pytest.raises(WindowError) as wrong:
        check_window(Cron(expression))
    assert found in str(wrong.value)
    assert f", expected {expected}" in str(wrong.value)
    assert wrong.value.fix.startswith(fix)


def test_a_time_zone_is_told_apart_from_an_expression() -> None:
    with pytest.raises(TimeZoneError):
        check_window(Cron("0 0 * * *", "Mars/Olympus"))
    with pytest.raises(WindowError) as wrong:
        check_window(Cron("never", "Mars/Olympus"))
    assert not isinstance(wrong.value, TimeZoneError)


fields = st.text(alphabet="0123456789*/,-#LWMON?", min_size=1, max_size=5)


@settings(max_examples=scale_examples(200), deadline=None)
@given(written=st.lists(fields, min_size=5, max_size=5))
def test_whatever_is_written_begins_a_window_or_is_refused(written: list[str]) -> None:
    """Nothing else is raised."""
    with suppress(WindowError):
        check_window(Cron(" ".join(written)))


def test_a_number_of_thousands_of_digits_is_a_bad_field() -> None:
    with pytest.raises(WindowError, match=r"found the hour '9{77}\.\.\.' in") as wrong:
        check_window(Cron(f"0 {'9' * 5000} * * *"))
    assert len(str(wrong.value)) < 300
