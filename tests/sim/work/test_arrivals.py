"""When jobs arrive: tables of times, and laws of what comes by chance."""

from collections import Counter
from decimal import Decimal
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.work.arrivals import (
    DAY_MS,
    HOUR_MS,
    WEEK_MS,
    Arrivals,
    At,
    Bursts,
    Every,
    PerHour,
    Poisson,
    WeekPattern,
    arrival_times,
)
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Uniform
from tests.scale_examples import scale_examples

SHAPES = (JobShape(requests={"gpu": 1}, run_ms=1_000),)


def times(arrivals: Arrivals, count: int | None = None, seed: int = 1) -> list[int]:
    return list(islice(arrival_times(arrivals, SHAPES, seed, "source"), count))


KNOWN: dict[str, tuple[Arrivals, list[int]]] = {
    "given times come in order": (At(submit_ms=(30, 10, 20)), [10, 20, 30]),
    "several jobs at each time": (At(submit_ms=(5, 0), jobs=2), [0, 0, 5, 5]),
    "no time, no job": (At(submit_ms=()), []),
    "the end itself is left out": (Every(interval_ms=10, until_ms=30), [0, 10, 20]),
    "from the start on": (Every(interval_ms=10, from_ms=7, until_ms=30), [7, 17, 27]),
    "several jobs again and again": (Every(interval_ms=10, jobs=2, until_ms=20), [0, 0, 10, 10]),
}


@pytest.mark.parametrize(("arrivals", "expected"), KNOWN.values(), ids=KNOWN.keys())
def test_times_without_chance(arrivals: Arrivals, expected: list[int]) -> None:
    assert times(arrivals) == expected


def test_without_an_end_they_go_on() -> None:
    assert times(Every(interval_ms=10), count=1_000)[-1] == 9_990


def test_jitter_makes_each_job_late_by_up_to_so_much() -> None:
    """With a jitter of two intervals, jobs of three rounds mix; none is early, all are there."""
    found = times(Every(interval_ms=10, jobs=5, jitter_ms=20, until_ms=1_000))
    assert len(found) == 5 * 100
    for place, at_ms in enumerate(found):
        # Sorted, the k-th of all lies between the k-th time on the grid and the jitter after it.
        assert place // 5 * 10 <= at_ms <= place // 5 * 10 + 20
    assert {at_ms % 10 for at_ms in found} == set(range(10))


spans = st.tuples(st.integers(0, 2 * WEEK_MS), st.integers(1, WEEK_MS))
hourly = st.decimals("0.01", 5, places=2).map(lambda rate: PerHour(arrivals=rate))
patterns = st.builds(
    WeekPattern,
    by_hour=st.tuples(*[st.integers(0, 3)] * 24).filter(any),
    by_weekday=st.tuples(*[st.integers(0, 3)] * 7).filter(any),
    start_weekday=st.integers(0, 6),
    start_hour=st.integers(0, 23),
)


def busyness(pattern: WeekPattern, at_ms: int) -> int | Decimal:
    in_week_ms = at_ms + pattern.start_weekday * DAY_MS + pattern.start_hour * HOUR_MS
    day, in_day_ms = divmod(in_week_ms % WEEK_MS, DAY_MS)
    return pattern.by_weekday[day] * pattern.by_hour[in_day_ms // HOUR_MS]


@settings(max_examples=scale_examples(40))
@given(span=spans, rate=hourly, pattern=patterns, seed=st.integers())
def test_chance_keeps_order_its_span_and_silent_hours(
    span: tuple[int, int], rate: PerHour, pattern: WeekPattern, seed: int
) -> None:
    from_ms, until_ms = span[0], span[0] + span[1]
    poisson = Poisson(rate=rate, pattern=pattern, from_ms=from_ms, until_ms=until_ms)
    found = times(poisson, seed=seed)
    assert found == sorted(found)
    assert all(from_ms <= at_ms < until_ms for at_ms in found)
    assert all(busyness(pattern, at_ms) > 0 for at_ms in found)


@settings(max_examples=scale_examples(40))
@given(
    rate=hourly,
    low=st.integers(1, 5),
    spread_ms=st.sampled_from([0, 1_000, DAY_MS]),
    seed=st.integers(),
)
def test_bursts_keep_order_and_number(rate: PerHour, low: int, spread_ms: int, seed: int) -> None:
    bursts = Bursts(
        rate=rate,
        jobs=Uniform(at_least=low, at_most=2 * low),
        spread_ms=spread_ms,
        until_ms=WEEK_MS,
    )
    found = times(bursts, seed=seed)
    begins = times(Poisson(rate=rate, until_ms=WEEK_MS), seed=seed)
    assert found == sorted(found)
    assert low * len(begins) <= len(found) <= 2 * low * len(begins)
    if begins:
        assert begins[0] <= found[0]
        assert found[-1] <= begins[-1] + spread_ms


def test_bursts_begin_when_single_jobs_would_come() -> None:
    rate = PerHour(arrivals=2)
    singles = times(Poisson(rate=rate), count=50)
    assert times(Bursts(rate=rate, jobs=3), count=150) == [at for at in singles for _ in range(3)]


def test_as_many_come_as_the_rate_says() -> None:
    """10 an hour over 1,000 hours are 10,000, with a spread of sqrt(10,000) = 100; 3 of it."""
    found = times(Poisson(rate=PerHour(arrivals=10), until_ms=1_000 * HOUR_MS))
    assert abs(len(found) - 10_000) < 300


def test_the_gaps_have_no_memory() -> None:
    """Mean 360 s; 1/e = 36.8 % of gaps are longer than that, and as many of these than twice."""
    found = times(Poisson(rate=PerHour(arrivals=10)), count=20_001)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    long = sum(gap > 360_000 for gap in gaps)
    longer = sum(gap > 720_000 for gap in gaps)
    assert abs(long / 20_000 - 0.3679) < 0.011
    assert abs(longer / long - 0.3679) < 0.018


def test_a_pattern_moves_arrivals_and_keeps_their_mean() -> None:
    """20 weeks of 168 h at 5 an hour: 16,800, spread 130.

    Weights of a day: 12 hours of 1 and 12 of 3 sum to 48, so 1/4 of jobs come at night. Of a week:
    5 days of 2 and 2 of 1 sum to 12, so 1/6 come at the weekend.
    """
    pattern = WeekPattern(
        by_hour=(1,) * 12 + (3,) * 12,
        by_weekday=(2, 2, 2, 2, 2, 1, 1),
        start_weekday=2,
        start_hour=5,
    )
    rate = PerHour(arrivals=5)
    found = times(Poisson(rate=rate, pattern=pattern, until_ms=20 * WEEK_MS))
    started_ms = 2 * DAY_MS + 5 * HOUR_MS
    halves = Counter((at + started_ms) % DAY_MS // (12 * HOUR_MS) for at in found)
    days = Counter((at + started_ms) % WEEK_MS // DAY_MS for at in found)
    assert abs(len(found) - 16_800) < 390
    assert abs(halves[0] / len(found) - 1 / 4) < 0.01
    assert abs((days[5] + days[6]) / len(found) - 1 / 6) < 0.01


def test_bursts_make_as_many_jobs_as_their_number_times_their_rate() -> None:
    """2 an hour over 2,000 hours are 4,000 bursts of 5 on average: 20,000 jobs, 3 % off at most."""
    bursts = Bursts(
        rate=PerHour(arrivals=2),
        jobs=Uniform(at_least=1, at_most=9),
        spread_ms=600_000,
        until_ms=2_000 * HOUR_MS,
    )
    assert abs(len(times(bursts)) - 20_000) < 600


def test_a_rare_arrival_is_found_without_a_walk_through_the_weeks() -> None:
    """One in a million hours, about 114 years, is as quick to find as any other."""
    found = times(Poisson(rate=PerHour(arrivals=Decimal("0.000001"))), count=1_000)
    assert abs(found[-1] / HOUR_MS / 1_000_000 - 1_000) < 100
