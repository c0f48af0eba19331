"""Durations of both worlds are read as milliseconds and written so that both can read them."""

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import DurationError, FairleadError
from fairlead.model.duration import MAX_NS, format_duration, parse_duration

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000
DAY_MS = 24 * HOUR_MS

# The arithmetic stands in the middle column; h is an hour, d a day, in milliseconds.
FORMS = """
    0              0                     exact
    +0             0                     exact
    -0             0                     exact
    0s             0                     exact
    168h           168*h                 exact
    1h30m          h+30*m                exact
    1.5h           h+30*m                exact
    90s            90*s                  exact
    500ms          500                   exact
    .5s            500                   exact
    5.s            5*s                   exact
    1m1h           h+m                   exact
    1m1m           2*m                   exact
    -1m30s         0-90*s                exact
    +5m            5*m                   exact
    1000us         1                     exact
    1000µs         1                     exact
    1000μs         1                     exact
    1us            0                     cut
    -1us           0                     cut
    1500us         1                     cut
    -1500us        0-1                   cut
    1ns            0                     cut
    999999ns       0                     cut
    500us500us     1                     exact
    0.0000000001s  0                     cut
    0.00000000001h 0                     cut
    1w             7*d                   exact
    7d             7*d                   exact
    1d12h          d+12*h                exact
    1y             365*d                 exact
    1y2w3d4h5m6s7ms  365*d+14*d+3*d+4*h+5*m+6*s+7  exact
    1d0h           d                     exact
"""

REFUSED = [
    *("", " ", "1", "10", "h", ".", ".s", "-", "+", "-s", "1 h", " 1h", "1h ", "1h\n"),
    *("1H", "1D", "1x", "1min", "1h30", "--1h", "1e3s", "1,5h", "1h-5m", "null"),
    *("1.5d", "-1d", "+1w", "12h1d", "1d1d", "1d1.5h", "1d5us", "\u0661h"),  # nor Prometheus's
]

ABSURD = ["9" * 60 + "h", "9" * 65 + "s", "300y", "2562048h", "1s" * 10**6]


def arithmetic(text: str) -> int:
    """Add up terms such as 3*d and 7."""
    units = {"s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
    sum_ms = 0
    for sign, terms in zip([1, -1], text.split("-"), strict=False):
        for term in terms.split("+"):
            count, _, unit = term.rpartition("*")
            size = units.get(unit) or int(unit)
            sum_ms += sign * size * int(count or 1)
    return sum_ms


@pytest.mark.parametrize("row", FORMS.strip().splitlines())
def test_both_forms_are_read_as_milliseconds(row: str) -> None:
    text, sum_of_terms, exactness = row.split()
    assert parse_duration(text) == (arithmetic(sum_of_terms), exactness == "exact")


@pytest.mark.parametrize("text", REFUSED)
def test_what_neither_go_nor_prometheus_reads_is_refused(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)
    assert "expected a duration such as 90s" in str(caught.value)


@pytest.mark.parametrize("text", ABSURD, ids=lambda text: text[:12])
def test_absurd_sizes_are_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(DurationError, match="expected") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 200


def test_the_longest_duration_is_the_one_that_go_can_hold() -> None:
    assert parse_duration(f"{MAX_NS}ns") == (MAX_NS // 1_000_000, False)
    with pytest.raises(DurationError):
        parse_duration(f"{MAX_NS + 1}ns")


def test_a_duration_error_is_both_ours_and_a_value_error() -> None:
    assert issubclass(DurationError, FairleadError)
    assert issubclass(DurationError, ValueError)


WRITTEN = """
    0            0s
    1            1ms
    90*s         1m30s
    168*h        168h
    h+30*m       1h30m
    h+s          1h1s
    2*s+7        2s7ms
    0-90*s       -1m30s
"""


@pytest.mark.parametrize("row", WRITTEN.strip().splitlines())
def test_durations_are_written_with_their_largest_units_first(row: str) -> None:
    sum_of_terms, text = row.split()
    assert format_duration(arithmetic(sum_of_terms)) == text


@given(st.integers(-(MAX_NS // 10**6), MAX_NS // 10**6))
def test_whatever_is_written_reads_back_as_the_same_duration(length_ms: int) -> None:
    assert parse_duration(format_duration(length_ms)) == (length_ms, True)


terms = st.lists(
    st.tuples(
        st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,8})?", fullmatch=True),
        st.sampled_from(["h", "m", "s", "ms", "us", "ns"]),
    ),
    min_size=1,
    max_size=3,
)


@given(terms=terms, sign=st.sampled_from(["", "-", "+"]))
def test_reading_equals_the_sum_of_exact_fractions_within_a_nanosecond_per_term(
    terms: list[tuple[str, str]], sign: str
) -> None:
    """Each term is cut to a nanosecond, as Go does; the sum is cut to a millisecond."""
    unit_ms = {"h": Fraction(HOUR_MS), "m": Fraction(MINUTE_MS), "s": Fraction(SECOND_MS)}
    unit_ms |= {"ms": Fraction(1), "us": Fraction(1, 1000), "ns": Fraction(1, 10**6)}
    sum_ms = sum((Fraction(number) * unit_ms[unit] for number, unit in terms), Fraction(0))
    length_ms, exact = parse_duration(sign + "".join(number + unit for number, unit in terms))
    assert 0 <= sum_ms - abs(length_ms) < 1 + len(terms) * Fraction(1, 10**6)
    assert exact == (sum_ms == abs(length_ms))
    assert length_ms <= 0 if sign == "-" else length_ms >= 0


@given(st.text(max_size=80) | st.text("0123456789.+-nuµmshdwy", max_size=20))
def test_no_text_raises_anything_but_a_duration_error(text: str) -> None:
    with suppress(DurationError):
        parse_duration(text)
