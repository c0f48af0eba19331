"""What a store says when its file or its disk fails: which file, what was found, what to do."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from fairlead.errors import StoreError
from fairlead.store.file import database
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from tests.store.usage_entries import RESOURCES, A, B, capacity, granted, guarantee, held

SOME: list[Entry] = [
    capacity(0, 9, 9),
    guarantee(0, None, 1),
    granted(1, 5, 5),
    *[held(2 + step / 7, step, 3, queue=(A, B)[step % 2]) for step in range(600)],
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user may look into; pytest's own is closed to all others."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
        path.chmod(0o755)


@pytest.fixture
def path(folder: Path) -> Path:
    """A store with some entries, closed."""
    path = folder / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append(SOME)
    return path


@contextmanager
def as_somebody() -> Iterator[None]:
    """Do as a user without rights, because what root may do nothing forbids."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(path: Path, *, writes: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        UsageStore.open(path, writes=writes).close()
    text = str(caught.value)
    assert text.startswith(f"usage store {path}: ")
    return text


def test_a_file_that_may_not_be_written_is_told(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)
    with as_somebody():
        assert "read-only" in refusal(path)


def test_a_folder_that_may_not_be_written_is_told(folder: Path) -> None:
    folder.chmod(0o555)
    with as_somebody():
        assert "cannot be opened" in refusal(folder / "new.db")


def test_a_file_that_may_not_be_read_is_told(path: Path) -> None:
    path.chmod(0)
    with as_somebody():
        assert "cannot be opened" in refusal(path, writes=False)


def test_a_closed_store_in_a_folder_that_may_not_be_written_can_be_read(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)
    with as_somebody():
        with UsageStore.open(path, writes=False) as store:
            assert list(store.entries()) == SOME
            assert store.newest_ms == SOME[-1].at_ms
            store.check()
        assert list(path.parent.iterdir()) == [path]


def test_a_store_that_is_open_elsewhere_is_read_with_what_was_written_last(path: Path) -> None:
    more = held(200, 1, 1)
    with UsageStore.open(path) as writer:
        writer.append([more])
        with as_somebody(), UsageStore.open(path, writes=False) as store:
            assert list(store.entries()) == [*SOME, more]


@pytest.mark.parametrize("is_closed", [False, True])
def test_who_reads_a_closed_store_is_told_when_it_is_written_again(
    path: Path, is_closed: bool
) -> None:
    """What was read of it as a file that does not change could be torn, or out of date."""
    path.parent.chmod(0o555)
    with as_somebody():
        reader = UsageStore.open(path, writes=False)
    path.parent.chmod(0o755)
    writer = UsageStore.open(path)
    writer.append([held(200, 1, 1)])
    if is_closed:
        writer.close()
    with as_somebody(), reader, pytest.raises(StoreError, match=r"written to .*; open it again"):
        reader.ledger(UsageRules(), held(300).at_ms)
    with as_somebody(), UsageStore.open(path, writes=False) as again:
        assert again.newest_ms == held(200).at_ms
    writer.close()


def test_a_disk_that_becomes_read_only_is_told_and_harms_nothing(path: Path) -> None:
    """Simulated: SQLite itself is told to write nothing."""
    with UsageStore.open(path) as store:
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="read-only"):
            store.append([held(200, 1, 1)])
        store._connection.execute("PRAGMA query_only = OFF")
        assert list(store.entries()) == SOME


def test_a_full_disk_is_told_and_harms_nothing(path: Path) -> None:
    """Simulated: the file may not have more pages than it has. Then there is room again."""
    more: list[Entry] = [held(200 + step, step, 1, user=f"user-{step}") for step in range(500)]
    with UsageStore.open(path) as store:
        [pages] = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"the disk is full .*; free some space"):
            store.append(more)
        assert list(store.entries()) == SOME
        store._connection.execute(f"PRAGMA max_page_count = {2 * pages + 100}")
        store.append(more)
        assert list(store.entries()) == [*SOME, *more]
        store.check()


def test_a_locked_file_is_told_soon_and_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.01)
    other = sqlite3.connect(path, isolation_level=None)
    with UsageStore.open(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another program holds it locked .*; wait for"):
            store.append([held(200, 1, 1)])
        assert list(store.entries()) == SOME
        other.execute("ROLLBACK")
        store.append([held(200, 1, 1)])
        assert store.newest_ms == held(200).at_ms
    other.close()


def test_a_file_that_is_no_database_is_told_and_not_changed(folder: Path) -> None:
    path = folder / "notes.txt"
    path.write_text("Dear diary, today the scheduler was fair.\n" * 100, encoding="utf-8")
    before = path.read_bytes()
    assert "not a store of usage, nor any other database" in refusal(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_told_and_not_changed(folder: Path) -> None:
    path = folder / "photos.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE photos (name TEXT)")
    other.close()
    before = path.read_bytes()
    assert "a database of another program" in refusal(path)
    assert "a database of another program" in refusal(path, writes=False)
    assert path.read_bytes() == before


def test_a_folder_in_place_of_a_file_is_told(folder: Path) -> None:
    assert "it is a folder; name a file in it" in refusal(folder)


def test_a_folder_that_is_not_there_is_told(folder: Path) -> None:
    assert "make sure that its folder exists" in refusal(folder / "none" / "use.db")


def test_a_missing_file_is_not_made_by_reading_it(folder: Path) -> None:
    assert "there is no such file" in refusal(folder / "use.db", writes=False)
    assert not (folder / "use.db").exists()


def test_an_empty_file_becomes_a_store(folder: Path) -> None:
    (folder / "use.db").touch()
    with UsageStore.open(folder / "use.db", resources=RESOURCES) as store:
        store.append(SOME)
        assert list(store.entries()) == SOME


def test_a_file_that_was_cut_off_is_told(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(
        StoreError,
        match=r"it is damaged .*; put it aside with its -wal and -shm, and restore a copy",
    ):
        read_all(path)


@pytest.mark.exhaustive
def test_no_flipped_byte_changes_what_is_read_without_being_told(path: Path) -> None:
    """100 copies with one bit changed each, all over the file, of which most is in use.

    Where nothing is written a byte may be anything. Everywhere else the check finds it, or at
    least what is read is what was written.
    """
    more: list[Entry] = [held(200 + step / 9, step, 2, user="eve") for step in range(4_000)]
    with UsageStore.open(path) as store:
        store.append(more)
    random = Random(7)
    told = 0
    for _ in range(100):
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        damage(copy, random)
        try:
            found = read_all(copy)
        except StoreError:
            told += 1
        else:
            assert found == (SOME + more, RESOURCES)
    assert told >= 50


def damage(path: Path, random: Random) -> None:
    content = bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def read_all(path: Path) -> tuple[list[Entry], tuple[str, ...]]:
    with UsageStore.open(path) as store:
        store.check()
        return list(store.entries()), store.resources


def test_a_letter_that_is_none_in_what_describes_the_tables_is_told(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"CREATE TABLE") + 3] ^= 0x80
    path.write_bytes(content)
    with pytest.raises(StoreError, match="it is damaged"):
        UsageStore.open(path, writes=False)


def test_an_empty_file_is_told_as_that_and_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / "use.db"
    path.touch()
    with pytest.raises(StoreError, match="it is empty, or was never finished; restore a copy, or"):
        UsageStore.open(path, writes=False)
    assert path.read_bytes() == b""
