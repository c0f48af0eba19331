"""Rolled up, a store is small and says nearly the same; nothing of the last weeks is touched."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry, Gap, Granted, Held
from fairlead.usage.queue_use import Usage
from fairlead.usage.roll_up import pieces
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Tumbling
from tests.scale_examples import scale_examples
from tests.store.small_store import a_store, ledger_of
from tests.store.usage_entries import (
    DAY,
    HOUR,
    START,
    A,
    B,
    capacity,
    granted,
    held,
    histories,
    removed,
)

FIRST_DAY = START // DAY * DAY
SINCE_EVER = UsageRules(window=Tumbling(10_000 * DAY))


def sums(entries: list[Entry], now_ms: int) -> Usage:
    return ledger_of(entries, SINCE_EVER).usage(now_ms)


def assert_nearly_same(found: Usage, wanted: Usage, calls: int) -> None:
    """One base unit over a day, for each user and call, at most (usage.roll_up says how much)."""
    most = 4 * DAY * max(1, calls)
    assert found.capacity == pytest.approx(wanted.capacity, abs=most, rel=0)
    for name, use in wanted.queues.items():
        got = found.queues[name].all if name in found.queues else (0, 0)
        assert got == pytest.approx(use.all, abs=most, rel=0)


def test_a_day_of_changes_becomes_its_average() -> None:
    """3 GPUs every other hour are 1.5 on average, that is 36 GPU-hours of a day."""
    changes: list[Entry] = [held(hour, 0, 3_000 * (hour % 2)) for hour in range(24 * 20)]
    now_ms = START + 20 * DAY
    with a_store(changes) as store:
        done = store.roll_up(now_ms, 14 * DAY)
        entries = list(store.entries())
    assert done.until_ms == (now_ms - 14 * DAY) // DAY * DAY
    old = [entry for entry in entries if entry.at_ms < done.until_ms]
    assert [entry for entry in entries if entry.at_ms > done.until_ms] == [
        entry for entry in changes if entry.at_ms > done.until_ms
    ]
    assert (0, 1_500) in [entry.amounts for entry in old if isinstance(entry, Held)]
    assert done.entries_before > 100 > 10 > len(old)
    wanted = sums(changes, now_ms).queues[A].all[1]
    assert sums(entries, now_ms).queues[A].all[1] == pytest.approx(wanted, abs=DAY, rel=0)


def test_what_was_rolled_up_is_left_alone_and_the_rest_follows() -> None:
    changes: list[Entry] = [held(6 * step, 0, step % 3) for step in range(4 * 30)]
    with a_store(changes) as store:
        first = store.roll_up(START + 20 * DAY, 14 * DAY)
        again = store.roll_up(START + 20 * DAY, 14 * DAY)
        assert (again.entries_before, again.entries_after) == (0, 0)
        later = store.roll_up(START + 27 * DAY, 14 * DAY)
        assert later.until_ms == first.until_ms + 7 * DAY
        assert 28 <= later.entries_before <= 31  # 7 days of 4 changes, and those at their edges
        store.check()


def test_acts_of_administrators_are_never_rolled_up() -> None:
    acts: list[Entry] = [granted(1, 1, 1), granted(50, 2, 2), removed(60)]
    with a_store([held(0, 1, 1), *acts]) as store:
        store.roll_up(START + 90 * DAY, DAY)
        kept = [entry for entry in store.entries() if entry in acts]
        assert kept == acts
        assert store.audit() == [act for act in acts if isinstance(act, Granted)]


def test_rolled_up_entries_give_their_room_back() -> None:
    """A change a minute for 20 days, of which 2 are kept: less than a fifth of the pages."""
    changes: list[Entry] = [
        held(number / 60, number % 977, number % 13, queue=(A, B)[number % 2])
        for number in range(60 * 24 * 20)
    ]
    with a_store(changes) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store.roll_up(START + 20 * DAY, 2 * DAY)
        assert store._connection.execute("PRAGMA page_count").fetchone()[0] < pages / 5
        assert store._connection.execute("PRAGMA freelist_count").fetchone()[0] == 0
        store.check()


def test_a_snapshot_of_what_is_not_rolled_up_stays_good() -> None:
    changes: list[Entry] = [capacity(0, 9, 9), held(0, 1, 1), held(400, 2, 2)]
    rules = UsageRules()
    now_ms = START + 401 * HOUR
    with a_store(changes) as store:
        wanted = store.ledger(rules, now_ms).usage(now_ms)
        store.save_snapshot(store.ledger(rules, now_ms), rules)
        store.roll_up(now_ms, 8 * DAY)
        assert store._connection.execute("SELECT count(*) FROM snapshot").fetchone() == (1,)
        with UsageStore.open(store.path, writes=False) as again:
            assert again.ledger(rules, now_ms).usage(now_ms) == wanted


def test_a_snapshot_from_before_the_end_of_a_roll_up_is_dropped() -> None:
    with a_store([held(0, 1, 1)]) as store:
        store.save_snapshot(store.ledger(UsageRules(), START), UsageRules())
        store.append([held(hour, hour, 2) for hour in range(24 * 30)])
        store.roll_up(START + 30 * DAY, DAY)
        assert store._connection.execute("SELECT count(*) FROM snapshot").fetchone() == (0,)


def test_a_past_that_is_added_later_is_rolled_up_later() -> None:
    """2 GPUs from the third day on; then it is said that it was 1 before, every hour anew.

    Of a thousandth of a GPU, at most one over a day is lost in each call.
    """
    now_ms = START + 40 * DAY
    with a_store([held(72, 0, 2_000), held(24 * 39, 0, 2_000)]) as store:
        store.roll_up(now_ms, 14 * DAY)
        store.append([held(hour, 0, 1_000) for hour in range(72)])
        assert store.roll_up(now_ms, 14 * DAY).entries_before >= 72
        used = sums(list(store.entries()), now_ms).queues[A].all[1]
        assert used == pytest.approx(1_000 * 72 * HOUR + 2_000 * 37 * DAY, abs=3 * DAY, rel=0)


@settings(deadline=None, max_examples=scale_examples(60))
@given(
    history=histories(), days=st.lists(st.integers(1, 20), min_size=1, max_size=4), data=st.data()
)
def test_however_often_it_is_rolled_up_the_sums_stay(
    history: list[Entry], days: list[int], data: st.DataObject
) -> None:
    history = with_gap(history, data.draw(st.integers(0, 20)), data.draw(st.integers(1, 60)))
    end_ms = max([entry.at_ms for entry in history], default=START) + 20 * DAY
    with a_store(history) as store:
        for day in sorted(days):
            store.roll_up(START + day * DAY, 0)
            store.check()
        found = list(store.entries())
    assert_nearly_same(sums(found, end_ms), sums(history, end_ms), 2 * len(days))


def with_gap(history: list[Entry], at: int, hours: int) -> list[Entry]:
    """The history with some hours of which nothing is known put into it."""
    if at >= len(history):
        return history
    since_ms = history[at].at_ms
    before = [entry for entry in history if entry.at_ms <= since_ms]
    after = [entry for entry in history if entry.at_ms > since_ms]
    until_ms = since_ms + hours * HOUR
    shifted = [_later(entry, hours * HOUR) for entry in after]
    return [*before, Gap(at_ms=until_ms, since_ms=since_ms), *shifted]


def _later(entry: Entry, shift_ms: int) -> Entry:
    values = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return type(entry)(**{**values, "at_ms": entry.at_ms + shift_ms})


PIECES = {
    "seven days at most": ((0, 16), [], [(0, 7), (7, 14), (14, 16)]),
    "nothing before a whole day is over": ((0.5, 0.9), [], []),
    "a gap over an edge belongs to one piece": ((0, 10), [(6.5, 8.5)], [(0, 9), (9, 10)]),
    "a gap over the end waits": ((0, 10), [(8.5, 11)], [(0, 7), (7, 8)]),
    "a gap over the beginning is taken in whole": ((2, 4), [(0.5, 2.5)], [(0, 4)]),
    "a gap that ends at an edge is over it": ((0, 2), [(1.5, 2)], [(0, 1)]),
    "a gap that begins at an edge is not": ((0, 2), [(2, 3)], [(0, 2)]),
}


@pytest.mark.parametrize(("days", "gaps", "wanted"), PIECES.values(), ids=PIECES)
def test_pieces_begin_and_end_where_nothing_is_unknown(
    days: tuple[float, float], gaps: list[tuple[float, float]], wanted: list[tuple[int, int]]
) -> None:
    begin_ms, until_ms = (int(day * DAY) for day in days)
    unknown = [Gap(since_ms=int(since * DAY), at_ms=int(at * DAY)) for since, at in gaps]
    found = [(begin / DAY, end / DAY) for begin, end in pieces(begin_ms, until_ms, unknown)]
    assert found == wanted
