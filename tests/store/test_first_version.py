"""A store of the first version, which had fewer checksums, is read on with all that is in it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from fairlead.errors import StoreError
from fairlead.store.file.migrations import MIGRATIONS, take_steps
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from tests.store.usage_entries import (
    HOUR,
    RESOURCES,
    START,
    A,
    B,
    capacity,
    granted,
    guarantee,
    held,
    renamed,
)

RULES = UsageRules()
NOW = START + 300 * HOUR
ENTRIES: list[Entry] = [
    capacity(0, 9, 9),
    guarantee(0, None, 1),
    granted(1, 5, 5),
    *[held(2 + step / 7, step, 3, queue=(A, B)[step % 2]) for step in range(1_500)],
    held(250, 1, 1, user="eve"),
    renamed(251, B, B),
]
LOOKED = START + 260 * HOUR


def old_seal(key: int, body: bytes) -> int:
    """The checksum of that time: of what a row says, and of the lower half of its key."""
    return crc32(body, key & 0xFFFFFFFF)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of version 1, in which rows are laid down as that version did."""
    with UsageStore.open(tmp_path / "new.db", resources=RESOURCES) as store:
        store.append(ENTRIES)
    path = tmp_path / "use.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        take_steps(old, MIGRATIONS[:1])
        old.execute("PRAGMA application_id = 0x464C5553")
        old.execute("PRAGMA user_version = 1")
        old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
        old.execute("BEGIN")
        for table in ("holders", "resources"):
            old.execute(f"INSERT INTO main.{table} SELECT * FROM new.{table}")
        for key, row in old.execute("SELECT key, levels FROM new.changes").fetchall():
            seal = (old_seal(key, row[2:]) & 0xFFFF).to_bytes(2)
            old.execute("INSERT INTO main.changes VALUES (?, ?)", (key, seal + row[2:]))
        for key, text in old.execute("SELECT key, entry FROM new.acts").fetchall():
            seal_and_text = (key, text, old_seal(key, text.encode()))
            old.execute("INSERT INTO main.acts VALUES (?, ?, ?)", seal_and_text)
        old.execute("INSERT INTO main.facts VALUES ('observed_ms', ?), ('rewritten', 3)", (LOOKED,))
        old.execute("INSERT INTO main.checkpoints VALUES (0, 0, x'00')")
        old.execute("INSERT INTO main.snapshot VALUES (1, 'rules', 0, 0, x'00')")
        old.execute("COMMIT")
    return path


def test_a_store_of_the_first_version_is_read_on(path: Path) -> None:
    with UsageStore.open(path) as store:
        store.check()
        assert list(store.entries()) == ENTRIES
        assert store.resources == RESOURCES
        assert store.observed_ms == LOOKED
        more = held(270, 4, 4, queue=B, user="new")
        store.append([more])
        found = store.ledger(RULES, NOW).usage(NOW)
    with UsageStore.open(path.with_name("new.db")) as store:
        store.append([more])
        assert store.ledger(RULES, NOW).usage(NOW) == found
    with UsageStore.open(path, writes=False) as store:
        assert list(store.entries()) == [*ENTRIES, more]


def test_a_store_of_the_first_version_is_not_changed_by_reading_it(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"of version 1, .* reads 2; open it once for writing"):
        UsageStore.open(path, writes=False)
    assert path.read_bytes() == before


DAMAGE = {
    "a level": "UPDATE changes SET levels = levels || x'00' WHERE key = (SELECT max(key)"
    " FROM changes)",
    "an act": "UPDATE acts SET entry = replace(entry, 'ann', 'bob')",
    "a name": "DELETE FROM holders WHERE id = 1",
    "a table": "ALTER TABLE facts RENAME TO fact",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_store_of_the_first_version_is_told_and_not_changed(
    path: Path, damage: str
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    with pytest.raises(StoreError, match="it is damaged"):
        UsageStore.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)
