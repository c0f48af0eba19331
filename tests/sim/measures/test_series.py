"""Buckets stay few and exact, however long it lasts and however large the amounts are."""

import pytest

from fairlead.sim.engine.events import CapacityChanged
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.measures.measures import Measures
from fairlead.sim.measures.series import Series
from tests.sim.measures.histories import event

TEBIBYTE = 2**40
DAY_MS = 24 * 3600 * 1000


def held_all_the_time(amount: int, end_ms: int, *, horizon_ms: int | None) -> Series:
    measures = Measures(("memory",), {"a": None}, horizon_ms=horizon_ms, most_buckets=10)
    job = Job(name="x", queue="a", submit_ms=0, run_ms=None, requests={"memory": amount})
    measures(CapacityChanged(at_ms=0, capacity={"memory": 2 * amount}))
    measures(event("submit", 0, job, 0))
    measures(event("start", 0, job, 1))
    measures.change_due(
        EntitlementChange(at_ms=0, entitled={"a": (amount,)}, demand={"a": (amount,)})
    )
    _, series = measures.end(end_ms)
    return series


@pytest.mark.parametrize(
    ("horizon_ms", "end_ms", "lengths_ms"),
    [
        (100, 100, [10] * 10),
        (100, 95, [10] * 9 + [5]),
        (95, 95, [10] * 9 + [5]),  # 95 / 10, rounded up
        (100, 101, [20] * 5 + [1]),  # one more than planned: each two become one
        (100, 400, [40] * 10),
        (100, 12, [10, 2]),
        (None, 5_500, [1000] * 5 + [500]),  # nobody knows the end: a second at first
        (None, 25_000, [4000] * 6 + [1000]),  # more than 10 of 1 s, more than 10 of 2 s
        (3, 10, [1] * 10),  # never shorter than a millisecond
    ],
)
def test_buckets_double_where_more_time_passes_than_there_is_room_for(
    horizon_ms: int | None, end_ms: int, lengths_ms: list[int]
) -> None:
    series = held_all_the_time(7, end_ms, horizon_ms=horizon_ms)
    assert series.lengths_ms() == lengths_ms
    column = series.of_queue("a").allocated["memory"]
    assert column == tuple(7 * length_ms for length_ms in lengths_ms)


def test_amounts_that_do_not_fit_into_64_bits_stay_exact() -> None:
    """100 TiB for 3 days a bucket are 2.8e22, which is over 2**63 = 9.2e18."""
    series = held_all_the_time(100 * TEBIBYTE + 1, 30 * DAY_MS, horizon_ms=30 * DAY_MS)
    expected = ((100 * TEBIBYTE + 1) * 3 * DAY_MS,) * 10
    assert expected[0] > 2**63
    assert series.of_queue("a").allocated["memory"] == expected
    assert series.of_queue("a").entitled["memory"] == expected
    assert series.capacity()["memory"] == tuple(2 * each for each in expected)


def test_buckets_that_fit_may_become_one_that_does_not() -> None:
    """20,000 TiB for 300 ms are 6.6e18, for 600 ms 1.3e19."""
    amount = 20_000 * TEBIBYTE
    assert amount * 300 < 2**63 < amount * 600
    series = held_all_the_time(amount, 6000, horizon_ms=3000)
    assert series.of_queue("a").allocated["memory"] == (amount * 600,) * 10


def test_an_eviction_belongs_to_the_bucket_in_which_it_is() -> None:
    measures = Measures(("gpu",), {"a": None}, horizon_ms=40, most_buckets=4)
    job = Job(name="x", queue="a", submit_ms=0, run_ms=None, pods=9, requests={"gpu": 1})
    measures(event("submit", 0, job, 0))
    measures(event("start", 0, job, 9))
    for at_ms in (9, 10, 19, 20, 40):
        measures(event("stop", at_ms, job, 1))
    _, series = measures.end(40)
    # Until 10: 9. Until 20: 10 and 19. Until 30: 20. What is at the very end is the last one's.
    assert series.of_queue("a").evictions == (1, 2, 1, 1)
