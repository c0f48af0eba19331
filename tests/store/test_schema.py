"""Files of any version open, or say which program they need."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import StoreError
from fairlead.store.file import schema
from fairlead.store.file.file_version import migrate
from fairlead.store.file.journal import LAST_KEY
from fairlead.store.file.journal_key import first_key
from fairlead.store.file.migrations import APPLICATION_ID, MIGRATIONS
from fairlead.store.file.schema import connect
from fairlead.store.file.upgrade import upgrade
from fairlead.store.file.usage_store import UsageStore
from tests.store.first_version import dump, first_version, version
from tests.store.usage_entries import HOUR, RESOURCES, START, forgiven, held

NEXT = (
    *MIGRATIONS,
    "ALTER TABLE sealed_holders ADD COLUMN team TEXT; CREATE INDEX teams ON sealed_holders (team)",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of today's version with an entry."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1)])
    return path


def test_an_old_file_is_brought_up_to_date_with_all_that_is_in_it(path: Path) -> None:
    """With a step after the last, today's file is an old one."""
    upgrade(path, migrations=NEXT)
    connection = connect(path, writes=True, migrations=NEXT)
    assert connection.execute("SELECT queue, team FROM sealed_holders").fetchall() == [("a", None)]
    assert connection.execute("SELECT count(*) FROM sealed_levels").fetchone() == (1,)
    connection.close()
    assert version(path) == len(MIGRATIONS) + 1


def test_a_new_file_goes_through_all_steps(tmp_path: Path) -> None:
    connection = connect(tmp_path / "new.db", writes=True, migrations=NEXT)
    assert connection.execute("SELECT team FROM sealed_holders").fetchall() == []
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "full"
    connection.close()


@pytest.mark.parametrize("writes", [True, False])
def test_an_old_file_is_not_changed_by_opening_it(path: Path, writes: bool) -> None:
    """Whoever writes may be a scheduler in its cycle, who has no time for it."""
    before = dump(path)
    with pytest.raises(StoreError, match=r"of version 2, .* needs version 3; .* usage upgrade"):
        connect(path, writes=writes, migrations=NEXT)
    assert version(path) == len(MIGRATIONS)
    assert dump(path) == before


@pytest.mark.parametrize("writes", [True, False])
def test_a_file_of_a_later_version_is_refused_and_not_changed(path: Path, writes: bool) -> None:
    upgrade(path, migrations=NEXT)
    with pytest.raises(StoreError, match=r"of version 3, .* up to 2; use the newer Fairlead"):
        UsageStore.open(path, writes=writes)
    assert version(path) == len(MIGRATIONS) + 1


def test_a_disk_on_which_nothing_can_be_logged_ahead_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite is told not to lock, as on some disks of a network: it says so and goes on without."""

    def opened(path: Path, mode: str) -> sqlite3.Connection:
        uri = f"{path.as_uri()}?mode={mode}&vfs=unix-none"
        return sqlite3.connect(uri, uri=True, isolation_level=None)

    monkeypatch.setattr(schema, "opened", opened)
    with pytest.raises(StoreError, match=r"journal as 'delete' there, .* disk of this machine"):
        UsageStore.open(tmp_path / "new.db", resources=RESOURCES)


def test_what_is_deleted_is_overwritten_also_where_sqlite_is_built_to_leave_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's SQLite overwrites by itself, so it is told not to before we say a word."""
    plain = schema.opened

    def opened(path: Path, mode: str) -> sqlite3.Connection:
        connection = plain(path, mode)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(schema, "opened", opened)
    with UsageStore.open(path) as store:
        store.append([forgiven(1)])
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert b"a new year" in path.read_bytes()
        with store._transaction():
            store._journal.delete(first_key(START + HOUR), LAST_KEY)
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert b"a new year" not in path.read_bytes()


@pytest.mark.parametrize("writes", [True, False])
def test_statistics_that_sqlite_keeps_of_the_tables_are_no_damage(path: Path, writes: bool) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ANALYZE")
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%stat%'")
        assert ("sqlite_stat1",) in tables.fetchall()
    with UsageStore.open(path, writes=writes) as store:
        assert list(store.entries()) == [held(0, 1, 1)]


def test_an_old_file_with_statistics_is_upgraded(tmp_path: Path) -> None:
    path = first_version(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ANALYZE")
    upgrade(path)
    with UsageStore.open(path) as store:
        store.check()


OTHERS = {
    "CREATE TABLE notes (text)": "table notes",
    "CREATE TABLE notes (text UNIQUE)": "table notes",
    "CREATE INDEX quick ON sealed_holders (user)": "index quick",
    "CREATE VIEW who AS SELECT queue FROM sealed_holders": "view who",
    "CREATE TRIGGER t DELETE ON sealed_acts BEGIN DELETE FROM facts; END": "trigger t",
}


@pytest.mark.parametrize(("statement", "name"), OTHERS.items(), ids=OTHERS.values())
def test_what_somebody_else_put_into_the_file_is_named(
    path: Path, statement: str, name: str
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=f"that Fairlead did not make: {name}; put that into"):
        UsageStore.open(path)


@pytest.mark.parametrize(
    "statement", ["DROP TABLE facts", "ALTER TABLE facts RENAME TO notes", "DROP TABLE snapshot"]
)
def test_a_table_of_ours_that_is_not_there_is_damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=r"it is damaged \(what describes its tables"):
        UsageStore.open(path)


def test_two_programs_that_make_a_file_at_once_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has found no file; before it makes the tables, another makes the file and writes."""
    path = tmp_path / "use.db"

    def migrate_late(*arguments: Any) -> None:
        monkeypatch.undo()
        with UsageStore.open(path, resources=RESOURCES) as quicker:
            quicker.append([held(0, 1, 1)])
        migrate(*arguments)

    monkeypatch.setattr(schema, "migrate", migrate_late)
    with UsageStore.open(path) as store:
        assert list(store.entries()) == [held(0, 1, 1)]
