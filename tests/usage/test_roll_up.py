"""Rolled up, old entries are few, and the sums stay within the bounds that are promised."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import QueueUse, Usage
from fairlead.usage.roll_up import rolled_up
from fairlead.usage.window import Tumbling
from tests.scale_examples import scale_examples
from tests.text_table import rows
from tests.usage.journals import COMMON, RESOURCES, journals

A, B = QueueName("a"), QueueName("b")
BUCKET = 100
AGES = 10**9  # a window that begins before everything
USERS = 3  # nobody in particular, Ann, Bob
NOTHING = QueueUse(all=(0, 0), above_guarantee=(0, 0))

# What is written down stands above the line, what it is rolled up to below it.
SCENARIOS = {
    # Bucket 0: 10 for 50 ms of 100 is 5. Bucket 1: 10 for 20 and 0 for 80 is 2. Then the truth.
    "a bucket has the average of its levels": """
        at    what       who    level
        0     held       a      10
        50    held       a      0
        100   held       a      10
        120   held       a      0
        -
        0     held       a      5
        100   held       a      2
        200   held       a      0
    """,
    # 1 for 50 of 100 ms is 0.5, told as 1; half is owed, so the next 0.5 are told as 0.
    "what rounding leaves over goes to the next bucket": """
        at    what       who    level
        0     held       a      1
        50    held       a      0
        100   held       a      1
        150   held       a      0
        -
        0     held       a      1
        100   held       a      0
    """,
    # Held 10 for half the time over a guarantee of 4: 5 on average, 3 of them above: 2 are not.
    "the guarantee that is told leaves above it what was above": """
        at    what       who    level
        0     guarantee  a      4
        0     held       a      10
        50    held       a      0
        -
        0     held       a      5
        0     guarantee  a      2
        100   held       a      0
        1000  guarantee  a      4
    """,
    # Never more than 8 of 9 guaranteed, or all of it: nothing is above, and 9 says so, too.
    "a guarantee that is enough is told as it is": """
        at    what       who    level
        0     guarantee  a      9
        0     held       a      8
        50    held       a      2
        150   guarantee  a      none
        160   held       a      7
        -
        0     held       a      5
        0     guarantee  a      9
        100   held       a      4
        200   held       a      7
        1000  guarantee  a      none
    """,
    # A new queue's first bucket begins with it: 6 for 20 of 40 ms. Ann's begins with the queue's.
    "a queue appears when it did": """
        at    what       who    level
        0     capacity   -      9
        60    held       a      6
        80    held       a      0
        170   held       a/ann  10
        -
        0     capacity   -      9
        60    held       a      3
        100   held       a      0
        100   held       a/ann  3
        200   held       a/ann  10
    """,
    "what does not change is told once": """
        at    what       who    level
        0     held       a      3
        150   held       a      3
        900   held       a      3
        -
        0     held       a      3
    """,
    # Of 1000 ms on, every change is kept; the level of that moment is told before.
    "what is younger is kept": """
        at    what       who    level
        900   held       a      2
        950   held       a      4
        1001  held       a      5
        1002  held       a      6
        -
        900   held       a      3
        1000  held       a      4
        1001  held       a      5
        1002  held       a      6
    """,
}


def read(head: str, lines: list[str]) -> list[Entry]:
    return [_read_row(row) for row in rows("\n".join([head, *lines]))]


def _read_row(row: dict[str, str]) -> Entry:
    at_ms, level = int(row["at"]), None if row["level"] == "none" else int(row["level"])
    name, _, user = row["who"].partition("/")
    if row["what"] == "guarantee":
        return Guarantee(at_ms=at_ms, queue=QueueName(name), amounts=(level,))
    assert level is not None
    if row["what"] == "capacity":
        return Capacity(at_ms=at_ms, amounts=(level,))
    return Held(at_ms=at_ms, queue=QueueName(name), user=user, amounts=(level,))


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_changes_up_to_1000_ms_in_buckets_of_100(table: str) -> None:
    head, *lines = [line.strip() for line in table.strip().splitlines()]
    line = lines.index("-")
    told = rolled_up(read(head, lines[:line]), 1050, BUCKET)
    assert told == read(head, lines[line + 1 :])


def held(at_ms: int, amount: int, queue: QueueName = A) -> Held:
    return Held(at_ms=at_ms, queue=queue, amounts=(amount,))


@pytest.mark.parametrize(
    "rare",
    [
        Forgiven(at_ms=50, queue=A, who="w", reason="r"),
        Forgiven(at_ms=50, queue=None, who="w", reason="r"),
        Renamed(at_ms=50, queue=A, name=B),
        Removed(at_ms=50, queue=A),
        Gap(at_ms=50, since_ms=40),
    ],
    ids=lambda rare: type(rare).__name__,
)
def test_a_bucket_ends_at_what_is_rare(rare: Entry) -> None:
    """8 for 20 of 40 ms are 4, and what is left to 50 is 0; then 6 for 25 of 50 ms are 3."""
    queue = B if isinstance(rare, Renamed) else A
    before: list[Entry] = [held(0, 8), held(20, 0)]
    after: list[Entry] = [held(50, 6, queue), held(75, 0, queue)]
    told = rolled_up([*before, rare, *after], 200, BUCKET)
    first = held(0, 4 if isinstance(rare, Gap) else 3)  # 160 of 40 ms, or 160 of 50 are 3.2
    second = [held(50, 3, queue)] if isinstance(rare, Gap | Removed) else []
    assert told == [first, rare, *second, held(100, 0, queue)]


def test_a_grant_is_kept_and_ends_no_bucket() -> None:
    grant = Granted(at_ms=50, queue=A, resource_time=(-7,), who="w", reason="r")
    assert rolled_up([held(0, 8), grant, held(75, 0)], 100, BUCKET) == [
        held(0, 6),
        grant,
        held(100, 0),
    ]


def test_nothing_is_told_within_a_gap_that_is_not_over() -> None:
    """Buckets end at 250, where the gap begins, and not at 300, which is in it."""
    gap = Gap(since_ms=250, at_ms=350)
    entries: list[Entry] = [held(200, 4), held(225, 0), gap, held(360, 1)]
    told = rolled_up(entries, 300, BUCKET)
    assert told == [held(200, 2), held(250, 0), gap, held(360, 1)]
    ledger = Ledger(("gpu",), Tumbling(AGES))
    for entry in told:
        ledger.take(entry)
    assert ledger.usage(400).queues[A].all == (4 * 25 + 1 * 40,)


def usage_of(
    entries: Sequence[Entry], now_ms: int, begin_ms: int, half_life_ms: int | None = None
) -> Usage:
    """In a window that begins at *begin_ms*; a tumbling one is exact wherever it begins."""
    ledger = Ledger(RESOURCES, Tumbling(AGES, begin_ms), half_life_ms=half_life_ms)
    for entry in entries:
        ledger.take(entry)
    return ledger.usage(now_ms)


def assert_near(got: Usage, true: Usage, unit: int) -> None:
    """Everything is within its bound, of which *unit* is what one base unit makes in a bucket."""
    assert set(got.queues) <= set(true.queues)
    for queue, use in true.queues.items():
        rolled = got.queues.get(queue, NOTHING)
        _assert_within(rolled.all, use.all, USERS * unit // 2)
        _assert_within(rolled.above_guarantee, use.above_guarantee, USERS * unit + unit // 2)
    for user, used in true.users.items():
        _assert_within(got.users.get(user, (0, 0)), used, unit // 2)
    _assert_within(got.capacity, true.capacity, unit // 2)


def _assert_within(got: tuple[int, ...], true: tuple[int, ...], bound: int) -> None:
    for one, other in zip(got, true, strict=True):
        assert abs(one - other) <= bound


@settings(max_examples=scale_examples(200))
@given(
    entries=journals(most_step_ms=60, longest=80),
    begin=st.integers(0, 12),
    part=st.floats(0, 1),
)
def test_between_edges_sums_are_off_by_less_than_a_unit_however_many_buckets_there_are(
    entries: list[Entry], begin: int, part: float
) -> None:
    """Where the window begins at an edge, and ends after what was rolled up."""
    start_ms = entries[0].at_ms if entries else 0
    now_ms = entries[-1].at_ms + 150 if entries else 0
    begin_ms = min((start_ms // BUCKET + begin) * BUCKET, now_ms)
    told = rolled_up(entries, start_ms + round(part * (now_ms - start_ms)), BUCKET)
    true = usage_of(entries, now_ms, begin_ms)
    # The window cuts a sum in two, and the earlier part may be off as well.
    assert_near(usage_of(told, now_ms, begin_ms), true, BUCKET * (1 if begin == 0 else 2))


def test_a_thousand_buckets_are_off_by_no_more_than_one() -> None:
    """1 for 30 of every 100 ms: 0.3 is told as 0, 1, 0, 0, 1, 0, ... and comes to 30,000."""
    entries = [
        held(at_ms + after_ms, 1 - after_ms // 30)
        for at_ms in range(0, 100_000, 100)
        for after_ms in (0, 30)
    ]
    ledger = Ledger(("gpu",), Tumbling(AGES))
    for entry in rolled_up(entries, 100_000, BUCKET):
        ledger.take(entry)
    assert ledger.usage(100_000).queues[A].all == (30_000,)


def test_what_did_not_fit_above_a_guarantee_is_told_where_it_fits() -> None:
    """2, then 1 are held in every bucket: 1.5, told as 2, 1, 2, 1, ...

    In even buckets 1 is above a guarantee, in odd ones 1.5 are, which do not fit into 1.
    """
    entries: list[Entry] = []
    for at_ms in range(0, 2000, 200):
        for begin_ms, guarantee in ((at_ms, 1), (at_ms + 100, 0)):
            entries += [
                held(begin_ms, 2),
                Guarantee(at_ms=begin_ms, queue=A, amounts=(guarantee,)),
                held(begin_ms + 50, 1),
                Guarantee(at_ms=begin_ms + 50, queue=A, amounts=(0,)),
            ]
    ledger = Ledger(("gpu",), Tumbling(AGES))
    for entry in rolled_up(entries, 2000, BUCKET):
        ledger.take(entry)
    above = ledger.usage(2000).queues[A].above_guarantee[0]
    assert abs(above - 10 * 100 - 10 * 150) <= BUCKET // 2 + BUCKET


@settings(max_examples=scale_examples(100))
@given(entries=journals(most_step_ms=60), cuts=st.tuples(*[st.integers(0, 2500)] * 2))
def test_rolling_up_what_is_rolled_up_changes_nothing(
    entries: list[Entry], cuts: tuple[int, int]
) -> None:
    start_ms = entries[0].at_ms if entries else 0
    first, second = sorted(start_ms + cut for cut in cuts)
    told = rolled_up(entries, second, BUCKET)
    assert _in_one_order(rolled_up(told, second, BUCKET)) == _in_one_order(told)
    assert _in_one_order(rolled_up(told, first, BUCKET)) == _in_one_order(told)


def _in_one_order(entries: list[Entry]) -> list[Entry]:
    """That of time, then of the text: among different queues the order has no meaning."""
    return sorted(entries, key=lambda entry: (entry.at_ms, str(entry)))


@settings(max_examples=scale_examples(100))
@given(
    entries=journals(most_step_ms=60, kinds=[*COMMON, "renamed", "removed", "gap"]),
    begin=st.integers(0, 1500),
)
def test_a_window_that_begins_within_a_bucket_is_off_by_no_more_than_what_that_bucket_had(
    entries: list[Entry], begin: int
) -> None:
    start_ms = entries[0].at_ms if entries else 0
    now_ms = max(start_ms + begin, entries[-1].at_ms if entries else 0) + 100
    begin_ms = start_ms + begin
    told = usage_of(rolled_up(entries, now_ms, BUCKET), now_ms, begin_ms)
    edge_ms = begin_ms // BUCKET * BUCKET
    true, from_edge, from_next = (
        usage_of(entries, now_ms, each_ms)
        for each_ms in (begin_ms, edge_ms, min(edge_ms + BUCKET, now_ms))
    )
    for queue, use in true.queues.items():
        got = told.queues.get(queue, NOTHING)
        for place in range(len(RESOURCES)):
            bucket = from_edge.queues[queue].all[place] - from_next.queues[queue].all[place]
            assert abs(got.all[place] - use.all[place]) <= bucket + USERS * BUCKET


@settings(max_examples=scale_examples(100))
@given(
    entries=journals(unit=10**9, most_step_ms=60, kinds=COMMON),
    half_life_ms=st.integers(20, 2000),
)
def test_with_a_half_life_use_is_off_by_no_more_than_it_fades_within_a_bucket(
    entries: list[Entry], half_life_ms: int
) -> None:
    """Amounts so large that rounding to base units does not show: 1e-6 is left for it."""
    now_ms = entries[-1].at_ms + 100 if entries else 0
    told = usage_of(rolled_up(entries, now_ms, BUCKET), now_ms, 0, half_life_ms)
    true = usage_of(entries, now_ms, 0, half_life_ms)
    most = 2 ** (BUCKET / half_life_ms) * (1 + 1e-6)
    pairs = [(told.capacity, true.capacity)]
    pairs += [(told.queues.get(q, NOTHING).all, use.all) for q, use in true.queues.items()]
    pairs += [
        (told.queues.get(q, NOTHING).above_guarantee, use.above_guarantee)
        for q, use in true.queues.items()
    ]
    for got, used in pairs:
        for one, other in zip(got, used, strict=True):
            slack = 1e-6 * 10**9 * now_ms
            assert other / most - slack <= one <= other * most + slack


@given(changes=st.lists(st.integers(0, 40), min_size=1, max_size=200))
def test_there_is_at_most_one_entry_for_each_bucket_and_one_at_the_end(changes: list[int]) -> None:
    entries: list[Entry] = []
    at_ms = 0
    for step_ms in changes:
        at_ms += step_ms
        entries.append(held(at_ms, step_ms))
    assert len(rolled_up(entries, at_ms, BUCKET)) <= at_ms // BUCKET + 1 + sum(
        entry.at_ms >= at_ms // BUCKET * BUCKET for entry in entries
    )
