"""A store that a recorder writes stays short, and quick to open."""

from pathlib import Path

import pytest

from fairlead.store.file import database
from fairlead.store.file.saved_ledger import saved_ledger
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording import recorder as recorder_module
from fairlead.store.recording.recorder import Recorder
from fairlead.store.recording.state_levels import levels_of
from fairlead.usage.entries import Capacity
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.model.worlds import started
from tests.store.recorded_world import DAY, JOB, TEAM, at, is_well, locked, stopped, world, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "use.db"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.001)


def test_tidying_up_rolls_up_and_saves_a_snapshot_once_a_day(path: Path) -> None:
    state, recorder = world(), Recorder(path, keep_raw_ms=DAY)
    recorder.observe(levels_of(state), at(0))
    assert recorder._store is not None
    # Nothing crashes here, and waiting 864 times for the disk would be most of the time.
    recorder._store._connection.execute("PRAGMA synchronous = OFF")
    for minute in range(5, 3 * 24 * 60, 5):
        state.apply(stopped(JOB) if state.runs else started("job", "n1"))
        recorder.observe(levels_of(state), at(minute))
    before = len(written(path))
    recorder.tidy_up(at(3 * 24 * 60))
    after = len(written(path))
    assert after < before - 24 * 60 / 5
    assert has_snapshot(path)
    recorder.tidy_up(at(4 * 24 * 60 - 1))
    assert len(written(path)) == after
    recorder.tidy_up(at(4 * 24 * 60))
    assert len(written(path)) < after
    recorder.close()


def has_snapshot(path: Path) -> bool:
    return unsaved_rows(path) is not None


def unsaved_rows(path: Path) -> int | None:
    """How many rows of changes a start has to read after the snapshot; None: there is none."""
    with UsageStore.open(path, writes=False) as store:
        row = store._connection.execute("SELECT key FROM snapshot").fetchone()
        if row is None:
            return None
        later = "SELECT count(*) FROM levels WHERE key > ?"
        return int(store._connection.execute(later, row).fetchone()[0])


def test_closing_saves_a_snapshot_so_that_the_next_start_reads_nothing(path: Path) -> None:
    """Also when nothing changed, and when the clock was behind what is written."""
    rules = UsageRules(window=Sliding(DAY), half_life_ms=DAY)
    for minute in (9, 5, 6):
        state, recorder = world(), Recorder(path, rules)
        state.apply(started("job", "n1"))
        recorder.observe(levels_of(state), at(minute))
        recorder.close()
        assert is_well(recorder)
        assert unsaved_rows(path) == 0
    with UsageStore.open(path, writes=False) as store:
        found = saved_ledger(store._connection, rules, store.resources, 0)
    assert found is not None
    assert found.ledger.usage(at(20)).queues[TEAM].all[0] > 0


def test_closing_saves_what_others_wrote_even_if_nothing_came_since(path: Path) -> None:
    with UsageStore.open(path, resources=("cpu", "gpu")) as store:
        store.append([Capacity(at_ms=at(0), amounts=(8_000, 8_000))])
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(1))
    recorder.close()
    assert len(written(path)) == 1
    assert unsaved_rows(path) == 0


def test_a_snapshot_has_all_that_is_written_even_if_the_clock_is_behind(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(9))
    recorder.tidy_up(at(5))
    assert unsaved_rows(path) == 0
    recorder.close()


def test_closing_a_store_that_fails_raises_nothing(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(0))
    with locked(path):
        recorder.close()
        assert not is_well(recorder)
        assert "locked" in str(recorder.status.problem)
    assert not has_snapshot(path)
    recorder.observe(levels_of(world()), at(1))
    recorder.close()
    assert is_well(recorder)
    assert unsaved_rows(path) == 0


def test_a_snapshot_is_saved_whenever_there_is_much_to_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every 3 entries here. The first is of minute 0; each minute there is one more."""
    monkeypatch.setattr(recorder_module, "SAVE_AFTER_ENTRIES", 3)
    state, recorder = world(), Recorder(path)
    unsaved = []
    for minute in range(8):
        recorder.observe(levels_of(state), at(minute))
        recorder.tidy_up(at(minute))
        unsaved.append(unsaved_rows(path))
        state.apply(stopped(JOB) if state.runs else started("job", "n1"))
    recorder.close()
    assert unsaved == [0, 1, 2, 0, 1, 2, 0, 1]


def test_tidying_up_that_fails_is_tried_again(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(0))
    with locked(path):
        recorder.tidy_up(at(0))
    assert not is_well(recorder)
    recorder.observe(levels_of(world()), at(0) + 9_999)
    recorder.tidy_up(at(0) + 9_999)
    assert not has_snapshot(path)
    recorder.observe(levels_of(world()), at(0) + 10_000)
    recorder.tidy_up(at(0) + 10_000)
    assert has_snapshot(path)
    assert is_well(recorder)
    recorder.close()


def test_a_clock_that_jumps_back_does_not_put_tidying_up_off(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year ahead by mistake, tidied up, set right: the next is due at once, then in a day."""
    tidied: list[int] = []
    monkeypatch.setattr(UsageStore, "roll_up", lambda _, now_ms, _keep: tidied.append(now_ms))
    recorder, year = Recorder(path), 365 * 24 * 60
    recorder.observe(levels_of(world()), at(0))
    for minute in (year, 0, 1, 24 * 60 - 1, 24 * 60):
        recorder.tidy_up(at(minute))
    recorder.close()
    assert tidied == [at(year), at(0), at(24 * 60)]
