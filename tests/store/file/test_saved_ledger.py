"""A start from a snapshot answers as one from the entries; one that is out of date is not used."""

from itertools import groupby
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import StoreError, UsageError
from fairlead.store.file import checkpoints, journal
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding, Tumbling
from tests.scale_examples import scale_examples
from tests.store.small_store import RULES, a_store
from tests.store.usage_entries import (
    DAY,
    HOUR,
    RESOURCES,
    START,
    A,
    B,
    capacity,
    gap,
    granted,
    held,
    histories,
    removed,
)

WEEK = UsageRules()
NOW = START + 20 * HOUR


def gpu_hours(store: UsageStore, rules: UsageRules = WEEK, now_ms: int = NOW) -> float:
    return store.ledger(rules, now_ms).usage(now_ms).queues[A].all[1] / HOUR


def is_saved(store: UsageStore) -> bool:
    return bool(store._connection.execute("SELECT 1 FROM snapshot").fetchall())


@settings(deadline=None, max_examples=scale_examples(60))
@given(history=histories(), cut=st.integers(0, 30), rules=st.sampled_from(RULES))
def test_a_snapshot_and_what_came_after_it_is_all_that_there_is(
    history: list[Entry], cut: int, rules: UsageRules
) -> None:
    """The same to the last bit as a ledger that was never saved and took entries as they came."""
    then_ms = max([entry.at_ms for entry in history[:cut]], default=START)
    now_ms = max([entry.at_ms for entry in history], default=START)
    with a_store(history[:cut]) as store:
        store.save_snapshot(store.ledger(rules, then_ms), rules)
        store.append(history[cut:])
        wanted = store.ledger(rules, now_ms).usage(now_ms)
        with UsageStore.open(store.path, writes=False) as again:
            assert again.ledger(rules, now_ms).usage(now_ms) == wanted


def test_a_start_from_a_snapshot_reads_no_entry_that_is_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing can be unpacked any more: 2 GPUs for 20 hours are known yet."""
    with a_store([held(0, 0, 2)]) as store:
        store.save_snapshot(store.ledger(WEEK, START), WEEK)
        with UsageStore.open(store.path) as again:
            monkeypatch.setattr(journal, "unpacked", None)
            assert gpu_hours(again) == 40


def test_what_another_program_writes_is_in_the_next_answer(tmp_path: Path) -> None:
    """2 GPUs for 20 hours; then the other one adds 7, and says that it were 3 from hour 10 on."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store, UsageStore.open(path) as other:
        store.append([held(0, 0, 2)])
        assert gpu_hours(store) == 40
        other.append([granted(20, 0, 7)])
        assert gpu_hours(store) == 47
        other.append([held(10, 0, 3)])
        assert gpu_hours(store) == 57


def test_a_snapshot_is_not_used_after_its_past_was_changed() -> None:
    """2 GPUs for 10 hours, then 3 for another 10."""
    with a_store([held(0, 0, 2), capacity(20, 1, 1)]) as store:
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        store.append([held(10, 0, 3)])
        with UsageStore.open(store.path, writes=False) as again:
            assert gpu_hours(again) == 50


def test_a_snapshot_is_not_used_after_more_resources_are_counted() -> None:
    with a_store([held(0, 0, 2)]) as store:
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        store.ensure_resources(["memory"])
        with UsageStore.open(store.path, writes=False) as again:
            assert again.ledger(WEEK, NOW).usage(NOW).queues[A].all == (0, 40 * HOUR, 0)


def test_a_ledger_whose_past_was_changed_meanwhile_is_not_saved() -> None:
    with a_store([held(0, 0, 2), capacity(20, 1, 1)]) as store:
        ledger = store.ledger(WEEK, NOW)
        store.append([held(10, 0, 3)])
        store.save_snapshot(ledger, WEEK)
        assert not is_saved(store)


@pytest.mark.parametrize(
    "rules", [UsageRules(window=Sliding(DAY)), UsageRules(window=Tumbling(DAY * 7))]
)
def test_a_snapshot_of_other_rules_is_not_used(rules: UsageRules) -> None:
    with a_store([held(0, 0, 2)]) as store:
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        now_ms = START + 3 * DAY
        wanted = min(now_ms - START, DAY if rules.window == Sliding(DAY) else now_ms % (7 * DAY))
        assert gpu_hours(store, rules, now_ms) * HOUR == 2 * wanted


DAMAGE = {
    "its ledger": "body = substr(body, 1, 4) || zeroblob(99)",
    "its rules": "body = CAST(replace(body, 'Sliding', 'sliding') AS BLOB)",
    "its checksum": "body = x'00000000' || substr(body, 5)",
    "how far it has read": f"key = key + {HOUR << 12}",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_snapshot_costs_time_and_nothing_else(damage: str) -> None:
    """2 GPUs for half an hour and 3 for the rest of 20; only who asks for damage is told."""
    with a_store([held(0, 0, 2)]) as store:
        store.save_snapshot(store.ledger(WEEK, START), WEEK)
        store.append([held(0.5, 0, 3)])
        store._connection.execute(f"UPDATE snapshot SET {damage}")
        with UsageStore.open(store.path, writes=False) as again:
            assert gpu_hours(again) == 0.5 * 2 + 19.5 * 3
            with pytest.raises(StoreError, match=r"damaged \(the row at key .* of table snapshot"):
                again.check()


def test_no_byte_of_a_snapshot_changes_an_answer() -> None:
    """Every fourth byte of the row, from its checksum to its end, becomes another one."""
    random = Random(26)
    history: list[Entry] = [
        capacity(0, 9, 9),
        *[held(step / 10, 0, step % 5) for step in range(150)],
    ]
    with a_store(history) as store:
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        wanted = gpu_hours(store)
        [whole] = store._connection.execute("SELECT body FROM snapshot").fetchone()
        places = range(0, len(whole), 4)
        assert len(places) > 50
        for place in [*range(8), *places]:
            other = whole[place] ^ random.randrange(1, 256)
            damaged = whole[:place] + bytes([other]) + whole[place + 1 :]
            store._connection.execute("UPDATE snapshot SET body = ?", [damaged])
            with UsageStore.open(store.path, writes=False) as again:
                assert gpu_hours(again) == wanted
                with pytest.raises(StoreError, match=r"damaged \(the row at key .* of table snap"):
                    again.check()


def test_a_random_byte_of_the_file_is_noticed_or_changes_no_answer(tmp_path: Path) -> None:
    random = Random(26)
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([capacity(0, 9, 9), *[held(step / 10, 0, step % 5) for step in range(150)]])
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        wanted = gpu_hours(store)
    whole = path.read_bytes()
    used = [place for place, byte in enumerate(whole) if byte]
    noticed = 0
    for place in random.sample(used, 150):
        damaged = bytearray(whole)
        damaged[place] ^= random.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            with UsageStore.open(path, writes=False) as again:
                assert gpu_hours(again) == wanted, place
                again.check()
        except StoreError:
            noticed += 1
    assert noticed > 100


@pytest.mark.parametrize("damage", ["body = zeroblob(9)", f"key = key + {HOUR << 12}"])
def test_a_damaged_checkpoint_costs_time_and_nothing_else(damage: str) -> None:
    """It is of hour 30, when 5 GPUs were held; half an hour later there are 6."""
    with a_store([held(0, 0, 2), held(30, 0, 5)]) as store:
        store.save_snapshot(store.ledger(WEEK, NOW), WEEK)
        store.append([held(30.5, 0, 6)])
        store._connection.execute(f"UPDATE checkpoints SET {damage}")
        assert list(store.entries(START + 40 * HOUR)) == [held(40, 0, 6)]
        assert list(store.entries(START + 30 * HOUR)) == [
            held(30, 0, 2),
            held(30, 0, 5),
            held(30.5, 0, 6),
        ]
        with pytest.raises(StoreError, match=r"damaged \(the row at key .* of table checkpoints"):
            store.check()


def test_a_ledger_of_somebody_else_is_not_saved() -> None:
    with a_store([held(0, 0, 2)]) as store, a_store([held(0, 0, 2)]) as other:
        store.ledger(WEEK, NOW)
        with pytest.raises(UsageError, match="ledger that a store returned"):
            store.save_snapshot(other.ledger(WEEK, NOW), WEEK)
        with pytest.raises(UsageError, match="ledger that a store returned"):
            store.save_snapshot(store.ledger(WEEK, NOW), UsageRules(half_life_ms=DAY))
        assert not is_saved(store)


def test_an_earlier_question_is_not_answered_from_what_lacks_its_beginning() -> None:
    """2 GPUs for 6 hours, then none. The last day has them at hour 20, and not at hour 36."""
    rules = UsageRules(window=Sliding(DAY))
    early, late = START + 20 * HOUR, START + 36 * HOUR
    with a_store([held(0, 0, 2), held(6, 0, 0)]) as store:
        store.save_snapshot(store.ledger(rules, late), rules)
        assert gpu_hours(store, rules, early) == 12, "not from the ledger of the later question"
        with UsageStore.open(store.path, writes=False) as again:
            assert gpu_hours(again, rules, early) == 12, "nor from the snapshot"


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_who_asks_again_and_again_is_never_read_to_from_the_beginning(rules: UsageRules) -> None:
    """One ledger for four days of asking every hour, within windows and over their edges."""
    with a_store([held(0, 0, 2)]) as store:
        ledgers = set()
        for hour in range(1, 96):
            store.append([held(hour, 0, hour % 3)])
            ledgers.add(id(store.ledger(rules, START + hour * HOUR)))
        assert len(ledgers) == 1


def test_a_queue_that_is_gone_is_forgotten_when_its_past_has_faded() -> None:
    """Removed at hour 2; of a day, something is left at hour 25 and nothing at hour 27."""
    rules = UsageRules(window=Sliding(DAY))
    with a_store([held(0, 0, 2), held(0, 0, 1, queue=B), removed(2)]) as store:
        for hour, known in [(25, {A, B}), (27, {B})]:
            store.append([held(hour, 0, 3, queue=B)])
            now_ms = START + hour * HOUR
            store.save_snapshot(store.ledger(rules, now_ms), rules)
            assert store.ledger(rules, now_ms).usage(now_ms).queues.keys() == known
            with UsageStore.open(store.path, writes=False) as again:
                assert again.ledger(rules, now_ms).usage(now_ms).queues.keys() == known


@settings(deadline=None, max_examples=scale_examples(40))
@given(history=histories(), since_ms=st.integers(START, START + 3 * DAY))
def test_checkpoints_change_nothing_of_what_is_read(history: list[Entry], since_ms: int) -> None:
    """With one after every append, or with none, reading from a moment gives the same."""
    with a_store() as saving, a_store() as plain, pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "CHECKPOINT_MS", 0)
        for entry in history:
            saving.append([entry])
            saving.save_snapshot(saving.ledger(WEEK, entry.at_ms), WEEK)
        plain.append(history)
        assert list(saving.entries(since_ms)) == list(plain.entries(since_ms))
        saving.check()


def test_the_same_gap_before_and_after_a_checkpoint_is_one() -> None:
    """2 GPUs for 30 hours, then 19 hours of which nothing is known, then 51 more: 162 of 200."""
    unknown = gap(30, 49)
    with a_store([held(0, 0, 2)]) as store:
        store.append([unknown])
        store.save_snapshot(store.ledger(WEEK, START + 50 * HOUR), WEEK)
        assert store._connection.execute("SELECT count(*) FROM checkpoints").fetchone() != (0,)
        store.append([unknown])
        assert list(store.entries(START + 55 * HOUR)) == [held(55, 0, 2)]
        store.append([held(60, 0, 2)])
        store.append([held(58, 0, 2)])
        store.check()
        assert gpu_hours(store, WEEK, START + 100 * HOUR) == 2 * (30 + 51)


@settings(deadline=None, max_examples=scale_examples(40))
@given(history=histories(), others=st.lists(st.booleans(), max_size=30))
def test_a_ledger_that_follows_says_what_one_from_the_file_says(
    history: list[Entry], others: list[bool]
) -> None:
    """Entries come one moment at a time, from this program or from another."""
    now_ms = max([entry.at_ms for entry in history], default=START)
    with a_store() as store, UsageStore.open(store.path) as other:
        other._connection.execute("PRAGMA synchronous = OFF")
        writers = [other if is_other else store for is_other in others]
        for at_ms, moment in groupby(history, key=lambda entry: entry.at_ms):
            writer = writers.pop() if writers else store
            writer.append(list(moment))
            store.ledger(WEEK, at_ms)
        followed = store.ledger(WEEK, now_ms).usage(now_ms)
        with UsageStore.open(store.path, writes=False) as fresh:
            assert fresh.ledger(WEEK, now_ms).usage(now_ms).capacity == followed.capacity
            for name, use in fresh.ledger(WEEK, now_ms).usage(now_ms).queues.items():
                assert followed.queues[name] == use


def test_an_older_entry_of_another_program_is_seen_before_what_was_just_written(
    tmp_path: Path,
) -> None:
    """Its key is after what the ledger has taken and before what was written last."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store, UsageStore.open(path) as other:
        store.append([held(0, 0, 2)])
        store.ledger(WEEK, START)
        store.append([held(20, 0, 0)])
        other.append([held(10, 0, 3)])
        assert list(store.entries())[1] == held(10, 0, 3)
        assert gpu_hours(store) == 50


@pytest.mark.parametrize("is_opened_again", [False, True])
def test_an_entry_from_before_the_window_is_seen_by_who_follows(*, is_opened_again: bool) -> None:
    """4 GPUs until hour 1, then 1: a day's window that ends at hour 60 has 24 GPU hours of it."""
    day = UsageRules(window=Sliding(DAY))
    now_ms = START + 60 * HOUR
    with a_store([held(0, 0, 4)]) as store:
        ledger = store.ledger(day, now_ms)
        assert gpu_hours(store, day, now_ms) == 4 * 24
        store.save_snapshot(ledger, day)
        store.append([held(1, 0, 1)])
        if is_opened_again:
            with UsageStore.open(store.path, writes=False) as again:
                assert gpu_hours(again, day, now_ms) == 24
        else:
            assert gpu_hours(store, day, now_ms) == 24
