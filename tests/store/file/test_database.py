"""A store opens if its format is ours, and is refused otherwise, unchanged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.errors import StoreError
from fairlead.store.file import database
from fairlead.store.file.database import APPLICATION_ID, FORMAT, connect
from fairlead.store.file.usage_store import UsageStore
from tests.store.usage_entries import RESOURCES, held


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of today's version with an entry."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1)])
    return path


def test_a_new_file_has_our_format(tmp_path: Path) -> None:
    connection = connect(tmp_path / "new.db", writes=True)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "full"
    connection.close()


@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_a_file_of_another_format_is_refused_and_not_changed(
    path: Path, writes: bool, other: int
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {other}")
    before = path.read_bytes()
    refusal = f"it has format {other}, and this program reads format {FORMAT}; use the version"
    with pytest.raises(StoreError, match=refusal):
        UsageStore.open(path, writes=writes)
    assert path.read_bytes() == before


def test_a_disk_on_which_nothing_can_be_logged_ahead_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite is told not to lock, as on some disks of a network: it says so and goes on without."""

    def opened(path: Path, mode: str) -> sqlite3.Connection:
        uri = f"{path.as_uri()}?mode={mode}&vfs=unix-none"
        return sqlite3.connect(uri, uri=True, isolation_level=None)

    monkeypatch.setattr(database, "_opened", opened)
    with pytest.raises(StoreError, match=r"journal mode 'delete' there, .* local disk"):
        UsageStore.open(tmp_path / "new.db", resources=RESOURCES)


@pytest.mark.parametrize("writes", [True, False])
def test_statistics_that_sqlite_keeps_of_the_tables_are_no_damage(path: Path, writes: bool) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ANALYZE")
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%stat%'")
        assert ("sqlite_stat1",) in tables.fetchall()
    with UsageStore.open(path, writes=writes) as store:
        assert list(store.entries()) == [held(0, 1, 1)]


OTHERS = {
    "CREATE TABLE notes (text)": "table notes",
    "CREATE TABLE notes (text UNIQUE)": "table notes",
    "CREATE INDEX quick ON holders (body)": "index quick",
    "CREATE VIEW who AS SELECT key FROM holders": "view who",
    "CREATE TRIGGER t DELETE ON acts BEGIN DELETE FROM facts; END": "trigger t",
}


@pytest.mark.parametrize(("statement", "name"), OTHERS.items(), ids=OTHERS.values())
def test_what_somebody_else_put_into_the_file_is_named(
    path: Path, statement: str, name: str
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=f"what Fairlead did not create: {name}; move that"):
        UsageStore.open(path)


@pytest.mark.parametrize(
    "statement", ["DROP TABLE facts", "ALTER TABLE facts RENAME TO notes", "DROP TABLE snapshot"]
)
def test_a_table_of_ours_that_is_not_there_is_damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=r"it is damaged \(table (facts|snapshot) is missing"):
        UsageStore.open(path)


def test_two_programs_that_make_a_file_at_once_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has found no file; before it makes the tables, another makes the file and writes."""
    path = tmp_path / "use.db"

    create = database._create

    def create_late(connection: sqlite3.Connection, path: Path) -> None:
        monkeypatch.undo()
        with UsageStore.open(path, resources=RESOURCES) as quicker:
            quicker.append([held(0, 1, 1)])
        create(connection, path)

    monkeypatch.setattr(database, "_create", create_late)
    with UsageStore.open(path) as store:
        assert list(store.entries()) == [held(0, 1, 1)]
