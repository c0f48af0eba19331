"""Files of any version open, or say which program they need."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import StoreError
from fairlead.store.file import schema
from fairlead.store.file.migrations import APPLICATION_ID, MIGRATIONS
from fairlead.store.file.schema import connect
from fairlead.store.file.usage_store import UsageStore
from tests.store.usage_entries import RESOURCES, held

NEXT = (
    *MIGRATIONS,
    "ALTER TABLE holders ADD COLUMN team TEXT; CREATE INDEX teams ON holders (team)",
)


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of today's version with an entry."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1)])
    return path


def test_an_old_file_is_brought_up_to_date_with_all_that_is_in_it(path: Path) -> None:
    """With a step after the last, today's file is an old one."""
    connection = connect(path, writes=True, migrations=NEXT)
    assert connection.execute("SELECT queue, team FROM holders").fetchall() == [("a", None)]
    assert connection.execute("SELECT count(*) FROM changes").fetchone() == (1,)
    connection.close()
    assert version(path) == len(MIGRATIONS) + 1


def test_a_new_file_goes_through_all_steps(tmp_path: Path) -> None:
    connection = connect(tmp_path / "new.db", writes=True, migrations=NEXT)
    assert connection.execute("SELECT team FROM holders").fetchall() == []
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "full"
    connection.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    broken = (*MIGRATIONS, "CREATE TABLE teams (name TEXT); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreError, match="no such table: nowhere"):
        connect(path, writes=True, migrations=broken)
    assert version(path) == len(MIGRATIONS)
    with UsageStore.open(path) as store:
        assert list(store.entries()) == [held(0, 1, 1)]
        tables = store._connection.execute("SELECT name FROM sqlite_schema WHERE name = 'teams'")
        assert tables.fetchall() == []


def test_an_old_file_is_not_changed_by_reading_it(path: Path) -> None:
    with pytest.raises(StoreError, match=r"of version 2, .* reads 3; open it once for writing"):
        connect(path, writes=False, migrations=NEXT)
    assert version(path) == len(MIGRATIONS)


@pytest.mark.parametrize("writes", [True, False])
def test_a_file_of_a_later_version_is_refused_and_not_changed(path: Path, writes: bool) -> None:
    connect(path, writes=True, migrations=NEXT).close()
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

    monkeypatch.setattr(schema, "_opened", opened)
    with pytest.raises(StoreError, match=r"journal as 'delete' there, .* disk of this machine"):
        UsageStore.open(tmp_path / "new.db", resources=RESOURCES)


def test_two_programs_that_make_a_file_at_once_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has found no file; before it makes the tables, another makes the file and writes."""
    path = tmp_path / "use.db"
    migrate = schema._migrate

    def migrate_late(*arguments: Any) -> None:
        monkeypatch.undo()
        with UsageStore.open(path, resources=RESOURCES) as quicker:
            quicker.append([held(0, 1, 1)])
        migrate(*arguments)

    monkeypatch.setattr(schema, "_migrate", migrate_late)
    with UsageStore.open(path) as store:
        assert list(store.entries()) == [held(0, 1, 1)]
