"""An upgrade is done whole or not at all, whoever stops it, and only where one is due."""

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.errors import StoreError
from fairlead.store.file.migrations import MIGRATIONS
from fairlead.store.file.upgrade import Upgraded, upgrade
from fairlead.store.file.usage_store import UsageStore
from tests.store.first_version import dump, first_text, first_version, version
from tests.store.recorded_world import locked
from tests.store.usage_entries import RESOURCES, held

T = TypeVar("T")
ENTRIES = list(first_text().entries)
NEXT = (
    *MIGRATIONS,
    "ALTER TABLE sealed_holders ADD COLUMN team TEXT; CREATE INDEX teams ON sealed_holders (team)",
)


def test_what_was_upgraded_is_up_to_date(tmp_path: Path) -> None:
    path = first_version(tmp_path)
    assert upgrade(path) == Upgraded(old_version=1, version=2, has_snapshot=True)
    before = path.read_bytes()
    assert upgrade(path) is None
    assert path.read_bytes() == before


def test_who_looks_sees_every_row_and_every_entry_pass(tmp_path: Path) -> None:
    passed: list[str] = []

    def shown(things: Iterable[T], what: str, /) -> Iterator[T]:
        for thing in things:
            passed.append(what)
            yield thing

    path = first_version(tmp_path)
    upgrade(path, shown=shown)
    with UsageStore.open(path, writes=False) as store:
        [(rows,)] = store._connection.execute(
            "SELECT (SELECT count(*) FROM sealed_levels) + (SELECT count(*) FROM sealed_acts)"
        )
    assert passed == ["rows sealed"] * rows + ["entries read"] * len(ENTRIES)


@pytest.mark.parametrize("phase", ["rows sealed", "entries read"])
def test_an_upgrade_that_is_killed_leaves_the_file_as_it_was(tmp_path: Path, phase: str) -> None:
    path = first_version(tmp_path)
    before = dump(path)

    def shown(things: Iterable[T], what: str, /) -> Iterator[T]:
        for count, thing in enumerate(things):
            if what == phase and count == 50:
                os.kill(os.getpid(), signal.SIGKILL)
            yield thing

    child = os.fork()
    if child == 0:
        try:
            upgrade(path, shown=shown)
        finally:
            os._exit(1)  # never reached but by an error, which the parent finds out
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert version(path) == 1
    assert dump(path) == before
    upgrade(path)
    with UsageStore.open(path) as store:
        store.check()
        assert list(store.entries()) == ENTRIES


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1)])
    broken = (*MIGRATIONS, "CREATE TABLE teams (name TEXT); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreError, match="no such table: nowhere"):
        upgrade(path, migrations=broken)
    assert version(path) == len(MIGRATIONS)
    with UsageStore.open(path) as store:
        assert list(store.entries()) == [held(0, 1, 1)]
        tables = store._connection.execute("SELECT name FROM sqlite_schema WHERE name = 'teams'")
        assert tables.fetchall() == []


def test_a_program_that_has_the_file_open_neither_reads_nor_writes_after_an_upgrade(
    tmp_path: Path,
) -> None:
    """With a step after the last, today's program is an old one."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1)])
        done = upgrade(path, migrations=NEXT)
        assert done == Upgraded(old_version=2, version=3, has_snapshot=False)
        before = dump(path)
        told = "was upgraded by a newer program, to version 3, .*; start this program again"
        with pytest.raises(StoreError, match=told):
            store.append([held(1, 2, 2)])
        with pytest.raises(StoreError, match=told):
            store.ensure_resources(["tpu"])
        with pytest.raises(StoreError, match=told):
            store.audit()
        with pytest.raises(StoreError, match="use the newer Fairlead"):
            list(store.entries())
    assert dump(path) == before


def test_a_store_that_somebody_writes_is_not_upgraded(tmp_path: Path) -> None:
    path = first_version(tmp_path)
    with locked(path), pytest.raises(StoreError, match="another program holds it locked"):
        upgrade(path)
    assert version(path) == 1


def test_there_is_nothing_to_upgrade_in_what_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "use.db"
    with pytest.raises(StoreError, match="there is no such file"):
        upgrade(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="it is empty"):
        upgrade(path)
    assert path.stat().st_size == 0
    with pytest.raises(StoreError, match="it is a folder"):
        upgrade(tmp_path)
