"""Only an import starts a store, and one that fails leaves nothing behind."""

import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.store.file.usage_store import UsageStore
from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

SAMPLE = str(ROOT / "examples/usage/sacct.txt")
NOW = ("--now", "2026-11-16T08:00:00Z")
CHANGES = ["grant --queue a gpu=1h", "forgive --all", "forgive --queue a"]


def _empty(path: Path) -> None:
    path.touch()


def _never_finished(path: Path) -> None:
    """As after a crash, or on a full disk: its kind of journal is chosen, and no more."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [_empty, _never_finished])
def test_a_change_begins_no_record(tmp_path: Path, change: str, make: object) -> None:
    path = tmp_path / "usage.db"
    assert callable(make)
    make(path)
    before = path.read_bytes()
    by_eve = ("--store", str(path), "--reason", "r", "--who", "eve")
    ran = run_cli("usage", *change.split(), *by_eve, *NOW)
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err == (
        f"error: usage store {path}: it is empty, or was never finished; restore a copy, or start "
        "a new store there: fairlead usage import\n"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [_empty, _never_finished])
def test_an_import_begins_one_there(tmp_path: Path, make: object) -> None:
    path = tmp_path / "usage.db"
    assert callable(make)
    make(path)
    assert run_cli("usage", "import", SAMPLE, "--store", str(path), *NOW).exit_code == 0
    with UsageStore.open(path, writes=False) as record:
        assert record.newest_ms is not None


def import_with_room_for(most_bytes: int, store: Path) -> subprocess.CompletedProcess[str]:
    """Run an import that may write no file longer than *most_bytes*, as if the disk was full."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", "usage", "import", SAMPLE, "--store", store, *NOW],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
    )


@pytest.mark.parametrize("most_bytes", [0, 4096, 40_000])
def test_an_import_that_fails_leaves_nothing_behind(tmp_path: Path, most_bytes: int) -> None:
    store = tmp_path / "usage.db"
    ran = import_with_room_for(most_bytes, store)
    assert ran.returncode == 1
    assert f"error: usage store {store}: " in ran.stderr
    assert list(tmp_path.iterdir()) == []
    assert import_with_room_for(10**7, store).returncode == 0
    assert list(tmp_path.iterdir()) == [store]


def test_a_record_that_was_there_stays_when_an_import_fails(tmp_path: Path) -> None:
    store = tmp_path / "usage.db"
    UsageStore.open(store, resources=("cpu",)).close()
    assert import_with_room_for(4096, store).returncode == 1
    with UsageStore.open(store, writes=False) as record:
        assert (record.resources, record.newest_ms) == (("cpu",), None)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    store = tmp_path / "none/usage.db"
    ran = run_cli("usage", "import", SAMPLE, "--store", str(store), *NOW)
    assert ran.exit_code == 1
    assert f"usage store {store}: it cannot be created (No such file or directory); make" in ran.err


def test_a_store_that_another_program_made_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "usage.db"
    append = UsageStore.append

    def with_another(record: UsageStore, *arguments: object, **options: object) -> None:
        store.write_text("of another program")
        append(record, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(UsageStore, "append", with_another)
    ran = run_cli("usage", "import", SAMPLE, "--store", str(store), *NOW)
    assert ran.exit_code == 1
    assert f"usage store {store}: another program created it meanwhile" in ran.err
    assert store.read_text() == "of another program"
    assert list(tmp_path.iterdir()) == [store]


def test_a_link_to_where_nothing_is_yet_stays_a_link(tmp_path: Path) -> None:
    link, real = tmp_path / "link.db", tmp_path / "real.db"
    link.symlink_to(real)
    assert run_cli("usage", "import", SAMPLE, "--store", str(link), *NOW).exit_code == 0
    assert link.is_symlink()
    with UsageStore.open(real, writes=False) as record:
        assert record.newest_ms is not None
