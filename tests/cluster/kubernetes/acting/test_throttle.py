"""How many requests a lane makes at once, and when it pauses."""

import pytest

from fairlead.cluster.kubernetes.acting.throttle import Throttle

HALF = 0.5  # what is drawn at random: a pause is three quarters of its whole


def throttle(width: int = 24) -> Throttle:
    return Throttle("binds", width, lambda: HALF)


def fail(each: Throttle, times: int, *, now_s: float = 0.0) -> None:
    """Let one request after another be asked to come later, each after the pause of the last."""
    for _ in range(times):
        each.asked_for_less(now_s, 0, each.pauses)


def test_a_third_request_for_less_in_a_row_halves_the_width() -> None:
    each = throttle()
    widths = []
    for _ in range(18):
        fail(each, 1)
        widths.append(each.width)
    # 24, 12 after 3, 6 after 6, 3 after 9, 1 after 12, and never 0.
    assert widths == [24, 24, 12, 12, 12, 6, 6, 6, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1]


def test_a_success_in_between_keeps_the_width() -> None:
    each = throttle()
    for _ in range(10):
        fail(each, 2)
        each.succeeded()
    assert each.width == 24


def test_a_hundred_successes_widen_by_one_and_never_beyond_the_first_width() -> None:
    each = throttle(width=3)
    fail(each, 3)
    assert each.width == 1
    widths = []
    for _ in range(4):
        for _ in range(100):
            each.succeeded()
        widths.append(each.width)
    assert widths == [2, 3, 3, 3]


def test_pauses_double_up_to_half_a_minute_and_begin_anew_after_a_success() -> None:
    each = throttle()
    pauses_s = []
    for _ in range(11):
        each.pause(0.0, each.pauses)
        pauses_s.append(each.resumes_s)
    # 0.1 s, doubled each time, of which 1 - 0.5 / 2 is paused; at most 30 s.
    expected = [0.075, 0.15, 0.3, 0.6, 1.2, 2.4, 4.8, 9.6, 19.2, 22.5, 22.5]
    assert pauses_s == pytest.approx(expected)
    each.succeeded()
    each.pause(100.0, each.pauses)
    assert each.resumes_s == pytest.approx(100.075)


def test_the_time_that_the_server_names_is_a_least_one() -> None:
    each = throttle()
    each.asked_for_less(10.0, 20, each.pauses)
    assert each.resumes_s == pytest.approx(10 + 20 * 1.05)


def test_requests_that_fail_together_count_once() -> None:
    """Twenty-four binds are refused at once, and one of them names a longer time."""
    each = throttle()
    for number in range(24):
        each.asked_for_less(0.0, 2 if number == 7 else 0, 0)
    assert (each.width, each.pauses) == (24, 1)
    assert each.resumes_s == pytest.approx(2.0)
    fail(each, 2)
    assert each.width == 12
