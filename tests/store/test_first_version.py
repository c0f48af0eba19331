"""A store that a program of the first version wrote is upgraded with all that is in it."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.file.facts import fact
from fairlead.store.file.fit_resources import fit_resources
from fairlead.store.file.journal_key import first_key, moment_of
from fairlead.store.file.upgrade import Upgraded, upgrade
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.recorder import Recorder, StoreStatus
from fairlead.usage.entries import Granted, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import DAY_MS, UsageRules
from fairlead.usage.window import Tumbling
from tests.model.worlds import started
from tests.store.first_version import dump, first_text, first_version, version
from tests.store.page_bytes import varint
from tests.store.recorded_world import MINUTE, world

TEXT = first_text()
ENTRIES = list(TEXT.entries)
LOOKED_MS = 1_790_992_800_000
BEGIN_MS = ENTRIES[0].at_ms
RULES = UsageRules()
LONG = UsageRules(window=Tumbling(1_000 * DAY_MS))  # exact, wherever it begins to read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of version 1."""
    return first_version(tmp_path)


@pytest.fixture
def upgraded(path: Path) -> Path:
    """The same, upgraded."""
    upgrade(path)
    return path


def test_an_upgraded_store_has_all_that_was_in_it_and_goes_on(upgraded: Path) -> None:
    now_ms = LOOKED_MS + DAY_MS
    new = Held(at_ms=now_ms, queue=QueueName("new"), user="zoe", amounts=(1, 2, 3))
    with UsageStore.open(upgraded) as store:
        store.check()
        assert list(store.entries()) == ENTRIES
        assert store.resources == ("cpu", "memory", "nvidia.com/gpu") == TEXT.head.resources
        assert store.observed_ms == LOOKED_MS == TEXT.head.observed_ms
        assert [type(entry) for entry in store.audit()][:1] == [Granted]
        store.append([new])
        found = store.ledger(LONG, now_ms).usage(now_ms)
    plain = Ledger.by(TEXT.head.resources, LONG)
    for entry in [*ENTRIES, new]:
        plain.take(entry)
    assert found == plain.usage(now_ms)


def test_an_upgraded_store_knows_what_is_rolled_up_and_how_often_the_past_was_changed(
    path: Path,
) -> None:
    with closing(sqlite3.connect(path)) as old:
        facts = dict(old.execute("SELECT name, value FROM facts").fetchall())
    assert facts == {
        "observed_ms": LOOKED_MS,
        "rewritten": 1,
        "rolled_up_until_ms": BEGIN_MS + 2 * DAY_MS,
    }
    upgrade(path)
    with UsageStore.open(path, writes=False) as store:
        assert fact(store._connection, "rolled_up_until_ms") == BEGIN_MS + 2 * DAY_MS
        assert fact(store._connection, "rewritten") == 1


def test_an_upgraded_store_can_be_read_from_every_day(upgraded: Path) -> None:
    """A checkpoint for each, and none of them changes what is read."""
    days_ms = [BEGIN_MS + day * DAY_MS for day in range(13)]
    with UsageStore.open(upgraded) as store:
        keys = [key for (key,) in store._connection.execute("SELECT key FROM checkpoints")]
        with_them = [list(store.entries(day_ms)) for day_ms in days_ms]
        store._connection.execute("DELETE FROM checkpoints")
        assert [list(store.entries(day_ms)) for day_ms in days_ms] == with_them
    saved_ms = [BEGIN_MS, *map(moment_of, keys), LOOKED_MS]
    steps_ms = [after - before for before, after in pairwise(saved_ms)]
    assert len(keys) >= 10
    assert max(steps_ms) <= 1.5 * DAY_MS


def test_an_upgraded_store_starts_from_a_snapshot_of_the_same_rules(path: Path) -> None:
    """It was nine hours old, and is as new as the newest entry."""
    with closing(sqlite3.connect(path)) as old:
        [rules_before] = old.execute("SELECT rules FROM snapshot").fetchall()
    assert upgrade(path) == Upgraded(old_version=1, version=2, has_snapshot=True)
    with UsageStore.open(path) as store:
        [(rules, position)] = store._connection.execute("SELECT rules, position FROM snapshot")
        assert ((rules,), moment_of(position)) == (rules_before, ENTRIES[-1].at_ms)
        from_it = store.ledger(RULES, LOOKED_MS).usage(LOOKED_MS)
        store._connection.execute("DELETE FROM snapshot")
    with UsageStore.open(path) as store:
        assert store.ledger(RULES, LOOKED_MS).usage(LOOKED_MS) == from_it


@pytest.mark.parametrize(
    "rules", ["", "Sliding", "Sliding []", 'Sliding [{"length_ms":0},null,"exact",60000]', "Odd []"]
)
def test_a_snapshot_of_rules_that_nobody_knows_is_left_out(path: Path, rules: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("UPDATE snapshot SET rules = ?", (rules,))
    assert upgrade(path) == Upgraded(old_version=1, version=2, has_snapshot=False)
    with UsageStore.open(path) as store:
        store.check()


@pytest.mark.parametrize("writes", [True, False])
def test_opening_a_store_of_the_first_version_changes_nothing_and_says_what_to_do(
    path: Path, writes: bool
) -> None:
    before = path.read_bytes()
    cure = rf"of version 1, .* needs version 2; .* fairlead usage upgrade --store {path}"
    with pytest.raises(StoreError, match=cure):
        UsageStore.open(path, writes=writes)
    assert path.read_bytes() == before


def test_a_recorder_waits_for_the_upgrade_and_then_catches_up(path: Path) -> None:
    """Nothing long is done within a cycle: what is seen waits in memory."""
    state, recorder = world(), Recorder(path)
    recorder.observe(state, LOOKED_MS)
    state.apply(started("job", "n1"))
    recorder.observe(state, LOOKED_MS + MINUTE)
    assert (recorder.status.state, recorder.status.waiting) == ("degraded", 1)
    assert "fairlead usage upgrade" in str(recorder.status.problem)
    assert version(path) == 1
    upgrade(path)
    recorder.observe(state, LOOKED_MS + 2 * MINUTE)
    recorder.close()
    assert recorder.status == StoreStatus()
    with UsageStore.open(path) as store:
        store.check()
        entries = list(fit_resources(ENTRIES, TEXT.head.resources, store.resources))
        assert list(store.entries())[: len(ENTRIES)] == entries
        *_, last = store.entries()
        assert isinstance(last, Held)
        assert (last.queue, last.at_ms) == ("team", LOOKED_MS + MINUTE)


# What a program of the first version may do first in a transaction of each kind.
OLD_STATEMENTS = {
    "write levels": "INSERT INTO changes VALUES (99999, x'00')",
    "write an act": "INSERT INTO acts VALUES (99999, '{}', 1)",
    "find the last key": "SELECT max(key) FROM changes",
    "count another resource": "INSERT INTO resources VALUES (3, 'tpu')",
    "name another holder": "INSERT INTO holders VALUES (99, 'odd', '')",
    "say when it looked": "INSERT OR REPLACE INTO facts VALUES ('observed_ms', 5)",
    "see when it looked": "SELECT value FROM facts WHERE name = 'observed_ms'",
    "read a checkpoint": "SELECT key, levels FROM checkpoints WHERE key = 1 ORDER BY part",
    "save a ledger": "INSERT OR REPLACE INTO snapshot VALUES (1, '', 0, 0, x'00')",
}


@pytest.mark.parametrize("statement", OLD_STATEMENTS.values(), ids=OLD_STATEMENTS)
def test_an_old_program_that_has_the_file_open_cannot_go_on_with_it(
    path: Path, statement: str
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("BEGIN")
        old.execute(statement).fetchall()
        old.execute("ROLLBACK")
        upgrade(path)
        with pytest.raises(sqlite3.OperationalError, match=r"no such|columns but"):
            old.execute(statement)
    with UsageStore.open(path) as store:
        store.check()


DAMAGE = {
    "a level": "UPDATE changes SET levels = CAST(levels || x'00' AS BLOB)"
    " WHERE key = (SELECT max(key) FROM changes)",
    "an act": "UPDATE acts SET entry = replace(entry, 'eve', 'bob')",
    "a name": "DELETE FROM holders WHERE id = 1",
    "a table": "ALTER TABLE facts RENAME TO fact",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_store_of_the_first_version_is_told_and_not_changed(
    path: Path, damage: str
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    before = dump(path)
    with pytest.raises(StoreError, match="it is damaged"):
        upgrade(path)
    assert version(path) == 1
    assert dump(path) == before


def test_entries_of_the_first_version_that_contradict_each_other_are_told(path: Path) -> None:
    """Nothing is known since 1970, says a gap at the end, after all that is known."""
    key = first_key(LOOKED_MS)
    text = f'{{"type":"gap","at_ms":{LOOKED_MS},"since_ms":0}}'
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        seal = crc32(text.encode(), key & 0xFFFFFFFF)
        connection.execute("INSERT INTO acts VALUES (?, ?, ?)", (key, text, seal))
    with pytest.raises(StoreError, match=r"it is damaged \(a gap begins at 0 ms, but something"):
        upgrade(path)
    assert version(path) == 1


@pytest.mark.parametrize("bit", [36, 38, 40])
def test_a_row_of_the_first_version_that_lost_its_place_is_told(path: Path, bit: int) -> None:
    """Its checksum had only the lower half of the key: 2^24 ms more or less, 4.7 hours, passed.

    SQLite reads a page as it is laid out, so what is not in order there is not when it is read.
    """
    content = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM changes ORDER BY key")]
    lost = 0
    for before, key, after in zip(keys, keys[1:], keys[2:], strict=False):
        moved = key ^ 1 << bit
        if not before < moved < after and content.count(varint(key)) == 1:
            lost += 1
            path.write_bytes(content.replace(varint(key), varint(moved)))
            with pytest.raises(StoreError, match="it is damaged"):
                upgrade(path)
    assert lost >= 20
