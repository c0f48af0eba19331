"""What goes into a store comes out of it, in the order to take, and says what a ledger says."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import StoreError, UsageError
from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.scale_examples import scale_examples
from tests.store.small_store import RULES, a_store, ledger_of
from tests.store.usage_entries import (
    DAY,
    HOUR,
    RESOURCES,
    START,
    A,
    B,
    C,
    capacity,
    forgiven,
    gap,
    granted,
    guarantee,
    held,
    histories,
    removed,
    renamed,
)

EVERYTHING: list[Entry] = [
    capacity(0, 8_000, 4),
    guarantee(0, 500, None),
    held(0, 1_000, 1),
    held(0, 5 << 30, 0, user="eve"),
    held(1, 2_000, 1, queue=B),
    granted(1, -100, 10**15),
    gap(1, 3),
    forgiven(4, B),
    renamed(5, A, A),
    removed(6, B),
    held(6, 0, 0),
]


def test_every_kind_of_entry_comes_back_as_it_was_written() -> None:
    with a_store(EVERYTHING) as store:
        assert list(store.entries()) == EVERYTHING


def test_a_store_that_is_opened_again_is_as_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        assert store.newest_ms is None
        store.append(EVERYTHING)
    with UsageStore.open(path, writes=False) as store:
        assert store.resources == RESOURCES
        assert store.newest_ms == START + 6 * HOUR
        assert list(store.entries()) == EVERYTHING
        assert store.audit() == [granted(1, -100, 10**15), forgiven(4, B)]
        store.check()
        with pytest.raises(StoreError, match="reading only"):
            store.append([held(9, 1, 1)])


def test_the_newest_level_is_that_of_the_last_look_and_not_of_an_act() -> None:
    """Levels of hours 0 to 2, in any order; what an administrator does at hour 9 is none."""
    with a_store([granted(0, 1, 1)]) as no_level:
        assert no_level.newest_level_ms is None
    with a_store([capacity(0, 1, 1), guarantee(2, 1, 1)]) as store:
        store.append([held(1, 1, 1)])
        store.append([granted(9, 1, 1), forgiven(9)])
        assert store.newest_level_ms == START + 2 * HOUR
        assert store.newest_ms == START + 9 * HOUR


@pytest.mark.parametrize("lost", ["key = 0", "key = 1", "key >= 0"])
@pytest.mark.parametrize("entry", [held(0, 1, 2), granted(0, 1, 2)], ids=["level", "act"])
def test_a_lost_name_of_a_resource_is_told(lost: str, entry: Entry, tmp_path: Path) -> None:
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([entry])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM resources WHERE {lost}")
    with (
        pytest.raises(StoreError, match=r"the name of .* is missing"),
        UsageStore.open(path, writes=False) as store,
    ):
        list(store.entries())


def test_every_queue_that_anything_was_written_about_has_a_name_in_the_record() -> None:
    d = QueueName("d")
    with a_store([held(0, 1, 1, user="eve"), guarantee(0, 1, 1, queue=B)]) as store:
        assert store.queue_names() == {A, B}
        with UsageStore.open(store.path) as other:
            other.append([granted(1, 1, 1, queue=C), renamed(2, A, d), removed(3, B)])
        assert store.queue_names() == {A, B, C, d}


def test_more_resources_come_at_the_end_and_there_was_none_of_them() -> None:
    with a_store([held(0, 1, 2), guarantee(0, None, 2), granted(0, 3, 4)]) as store:
        store.ensure_resources(["gpu", "memory"])
        assert store.resources == ("cpu", "gpu", "memory")
        store.append([held(1, 5, 6)])  # of what came later there is 0
        assert list(store.entries()) == [
            held(0, 1, 2, 0),
            guarantee(0, None, 2, 0),
            granted(0, 3, 4, 0),
            held(1, 5, 6, 0),
        ]


def test_entries_of_the_past_take_their_place_in_time() -> None:
    with a_store([held(5, 1, 1), held(9, 3, 3)]) as store:
        store.append([held(7, 2, 2), granted(6, 1, 1), held(5, 9, 9)])
        assert list(store.entries()) == [
            held(5, 1, 1),
            held(5, 9, 9),  # of one moment, the order of writing
            granted(6, 1, 1),
            held(7, 2, 2),
            held(9, 3, 3),
        ]


def test_more_levels_of_one_moment_than_a_row_holds_keep_their_order() -> None:
    many: list[Entry] = [held(0, number, 1, user=f"user-{number}") for number in range(200)]
    with a_store(many) as store:
        assert list(store.entries()) == many


CONTRADICTIONS = {
    "a gap in which something is known": ([held(1, 1, 1), held(2, 2, 2)], [gap(1, 3)]),
    "an entry in a gap": ([held(1, 1, 1), gap(1, 3)], [held(2, 2, 2)]),
    "a gap that ends before it begins": ([], [gap(3, 1)]),
    "a name that another queue has": ([held(1, 1, 1), held(1, 1, 1, queue=B)], [renamed(2, A, B)]),
    "a past for a name that is free only since": (
        [held(3, 1, 1), renamed(4, A, B)],
        [held(2, 1, 1, queue=B)],
    ),
    "less than nothing": ([], [held(1, -1, 0)]),
    "an amount of nothing that is counted": ([], [held(1, 1, 1, 1)]),
}


@pytest.mark.parametrize(("before", "refused"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_no_ledger_takes_is_refused_and_nothing_is_changed(
    before: list[Entry], refused: list[Entry]
) -> None:
    with a_store(before) as store:
        with pytest.raises(UsageError):
            store.append([held(9, 1, 1, queue=B, user="new"), *refused])
        assert list(store.entries()) == before
        store.append([held(10, 1, 1, queue=B, user="new")])
        assert list(store.entries())[-1] == held(10, 1, 1, queue=B, user="new")


def test_reading_from_a_moment_begins_with_what_held_then() -> None:
    with a_store([*EVERYTHING[:5], renamed(2, B, B)]) as store:
        assert list(store.entries(START + HOUR)) == [
            capacity(1, 8_000, 4),
            guarantee(1, 500, None),
            held(1, 1_000, 1),
            held(1, 5 << 30, 0, user="eve"),
            held(1, 2_000, 1, queue=B),
            renamed(2, B, B),
        ]


def test_reading_from_the_middle_of_a_gap_tells_the_rest_of_it() -> None:
    with a_store([held(0, 1, 1), gap(1, 5)]) as store:
        assert list(store.entries(START + 3 * HOUR)) == [held(3, 1, 1), gap(3, 5)]


@settings(deadline=None, max_examples=scale_examples(40))
@given(history=histories(), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_however_a_history_is_cut_into_appends_it_reads_the_same(
    history: list[Entry], cuts: list[int]
) -> None:
    with a_store() as store:
        bounds = [0, *sorted(cuts), len(history)]
        for begin, end in pairwise(bounds):
            store.append(history[begin:end])
        assert list(store.entries()) == history
        store.check()


@settings(deadline=None, max_examples=scale_examples(60))
@given(history=histories(), rules=st.sampled_from(RULES), later_ms=st.sampled_from([0, HOUR, DAY]))
def test_the_ledger_of_a_window_says_what_one_that_took_everything_says(
    history: list[Entry], rules: UsageRules, later_ms: int
) -> None:
    """Up to rounding: two ledgers with a half-life may have moved their base at other moments."""
    now_ms = max([entry.at_ms for entry in history], default=START) + later_ms
    with a_store(history) as store:
        found = store.ledger(rules, now_ms).usage(now_ms)
    wanted = ledger_of(history, rules).usage(now_ms)
    assert found.unknown == wanted.unknown
    assert found.capacity == pytest.approx(wanted.capacity, rel=1e-9, abs=2)
    for name, use in wanted.queues.items():
        if name in found.queues:
            assert found.queues[name].all == pytest.approx(use.all, rel=1e-9, abs=2)
        else:
            assert not any(use.all), "what is left out used nothing in the window"


def test_the_ledger_of_an_earlier_moment_leaves_out_what_came_later() -> None:
    """2 GPUs for 3 hours, whatever was held afterwards."""
    with a_store([held(0, 0, 2), held(4, 0, 7)]) as store:
        usage = store.ledger(UsageRules(), START + 3 * HOUR).usage(START + 3 * HOUR)
        assert usage.queues[A].all == (0, 6 * HOUR)


def test_an_old_gap_that_reaches_into_the_window_is_taken() -> None:
    """2 GPUs, a window of a day, of which the first 6 hours are not known."""
    with a_store([held(0, 0, 2), gap(10, 30)]) as store:
        now_ms = START + 48 * HOUR
        usage = store.ledger(UsageRules(window=Sliding(DAY)), now_ms).usage(now_ms)
        assert usage.queues[A].all == (0, 2 * 18 * HOUR)
