"""What is read is as of one moment, even if another program writes in the middle of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice

import pytest

from fairlead.store.file.journal import Journal, NumberedEntry
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from tests.store.file.test_roll_up import FIRST_DAY
from tests.store.small_store import a_store
from tests.store.usage_entries import (
    DAY,
    HOUR,
    START,
    A,
    B,
    C,
    capacity,
    gap,
    granted,
    held,
    removed,
)

WEEK = UsageRules()
NOW = START + 5 * HOUR
BEFORE: list[Entry] = [capacity(0, 9, 9), held(0, 0, 9), held(0, 0, 1, queue=C)]
ONE_COMMIT: list[Entry] = [held(1, 0, 0), held(1, 0, 9, queue=B), removed(1, C)]
"""One queue stops, another begins, and the third is gone: levels and an act."""


def gpu_hours(store: UsageStore) -> list[float]:
    """What the three queues used until hour 5."""
    queues = store.ledger(WEEK, NOW).usage(NOW).queues
    return [queues[name].all[1] / HOUR if name in queues else 0 for name in (A, B, C)]


def write_before(patch: pytest.MonkeyPatch, name: str, write: Callable[[], None]) -> None:
    """Let *write* happen once, in the middle of reading: before *name* reads its rows."""
    read: Callable[[Journal, int | None, int], Iterator[NumberedEntry]] = getattr(Journal, name)

    def interrupted(journal: Journal, after: int | None, until: int) -> Iterator[NumberedEntry]:
        patch.undo()
        write()
        yield from read(journal, after, until)

    patch.setattr(Journal, name, interrupted)


@pytest.mark.parametrize("table", ["_read_acts", "_read_levels"])
def test_a_follower_loses_nothing_of_what_is_committed_while_it_reads(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queue a has 9 GPUs for an hour, then b for 4; c has 1 for an hour, whatever is seen when."""
    with a_store(BEFORE) as writer, UsageStore.open(writer.path) as follower:
        follower.ledger(WEEK, START)
        write_before(monkeypatch, table, lambda: writer.append(ONE_COMMIT))
        assert gpu_hours(follower) == [45, 0, 5], "nothing of the commit"
        assert gpu_hours(follower) == [9, 36, 1], "all of it"
        follower.save_snapshot(follower.ledger(WEEK, NOW), WEEK)
        with UsageStore.open(writer.path, writes=False) as again:
            assert gpu_hours(again) == [9, 36, 1]


def test_a_grant_that_comes_between_two_pages_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2,000 rows are two pages; before the second, a grant of 7 and, later still, a level come."""
    changes: list[Entry] = [held(step / 1000, 0, step % 2) for step in range(2_000)]
    late: list[Entry] = [granted(2, 0, 7), held(3, 0, 0)]
    with a_store(changes) as writer, UsageStore.open(writer.path) as follower:
        unpacked = Journal.unpacked_levels
        rows = 0

        def slow(journal: Journal, key: int, body: bytes) -> list[Entry]:
            nonlocal rows
            rows += 1
            if rows == 1_000:
                for entry in late:
                    writer.append([entry])
            return unpacked(journal, key, body)

        monkeypatch.setattr(Journal, "unpacked_levels", slow)
        follower.ledger(WEEK, NOW)
        monkeypatch.undo()
        with UsageStore.open(writer.path, writes=False) as fresh:
            assert gpu_hours(follower) == gpu_hours(fresh)
        assert gpu_hours(follower)[0] == pytest.approx(1 + 1 + 7, abs=0.01)


@pytest.mark.parametrize("table", ["_read_acts", "_read_levels"])
def test_entries_are_those_of_when_reading_began(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_store(BEFORE) as writer, UsageStore.open(writer.path, writes=False) as reader:
        write_before(monkeypatch, table, lambda: writer.append(ONE_COMMIT))
        assert list(reader.entries()) == BEFORE
        assert list(reader.entries()) == BEFORE + ONE_COMMIT


def test_who_reads_entries_may_write_before_the_last_of_them() -> None:
    with a_store(BEFORE) as store:
        entries = store.entries()
        first = list(islice(entries, 1))
        store.append(ONE_COMMIT)
        assert gpu_hours(store) == [9, 36, 1]
        assert first + list(entries) == BEFORE
        assert list(store.entries()) == BEFORE + ONE_COMMIT


def test_a_gap_that_is_written_while_a_roll_up_begins_is_not_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pieces are of seven days. The gap is over the end of the first, so that has two days more."""
    day = (FIRST_DAY - START) / HOUR + 24  # the first whole day, in hours after the start
    changes: list[Entry] = [held(day, 0, 1), held(day + 24 * 20, 0, 2)]
    unknown = gap(day + 24 * 5.5, day + 24 * 8.5)
    transaction = UsageStore._transaction

    with a_store(changes) as store, UsageStore.open(store.path) as other:

        def late(writer: UsageStore) -> AbstractContextManager[None]:
            monkeypatch.undo()
            other.append([unknown])
            return transaction(writer)

        monkeypatch.setattr(UsageStore, "_transaction", late)
        store.roll_up(START + 30 * DAY, 8 * DAY)
        store.check()
        assert unknown in list(store.entries())
