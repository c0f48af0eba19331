"""Whatever fails meanwhile, a recorder loses nothing without saying so."""

import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.store.file import database
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.recorder import Recorder, StoreStatus
from fairlead.store.recording.state_levels import levels_of
from fairlead.usage.entries import Capacity, Gap, Granted
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.model.worlds import started
from tests.scale_examples import scale_examples
from tests.store.recorded_world import (
    DAY,
    JOB,
    MINUTE,
    OTHER,
    TEAM,
    at,
    held,
    is_well,
    locked,
    stopped,
    world,
    world_that_counts,
    written,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "use.db"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.001)


def test_a_store_that_fails_at_the_start_is_degraded_and_then_catches_up(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    path.mkdir()
    recorder.observe(levels_of(state), at(0))
    state.apply(started("job", "n1"))
    recorder.observe(levels_of(state), at(1))
    status = recorder.status
    assert (status.state, status.since_ms, status.waiting) == ("degraded", at(0), 1)
    assert status.problem == f"usage store {path}: it is a folder; name a file in it"
    path.rmdir()
    recorder.observe(levels_of(state), at(2))
    assert recorder.status == StoreStatus()
    recorder.close()
    assert written(path) == [Capacity(at_ms=at(0), amounts=(8_000, 8_000)), held(1, 1_000)]


def test_a_locked_store_loses_nothing(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(levels_of(state), at(0))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    state.apply(started("job", "n1"))
    recorder.observe(levels_of(state), at(1))
    assert not is_well(recorder)
    assert "locked" in str(recorder.status.problem)
    state.apply(started("work", "n1"))
    recorder.observe(levels_of(state), at(2))
    assert recorder.status.waiting == 2
    other.execute("ROLLBACK")
    other.close()
    recorder.observe(levels_of(state), at(3))
    recorder.close()
    assert is_well(recorder)
    assert written(path)[1:] == [held(1, 1_000), held(2, 1_000, OTHER)]


def test_a_store_that_fails_is_not_tried_in_every_cycle(path: Path) -> None:
    recorder = Recorder(path)
    path.mkdir()
    recorder.observe(levels_of(world()), at(0))
    path.rmdir()
    recorder.observe(levels_of(world()), at(0) + 9_999)
    assert not path.exists()
    recorder.observe(levels_of(world()), at(0) + 10_000)
    assert path.exists()
    recorder.close()


def test_too_much_that_waits_is_given_up_for_a_gap(path: Path) -> None:
    """At most 2 wait. Every minute the job starts or stops; at minute 10 the store is back."""
    state, recorder = world(), Recorder(path, most_waiting=2)
    recorder.observe(levels_of(state), at(0))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for minute in range(1, 10):
        state.apply(started("job", "n1") if minute % 2 else stopped(JOB))
        recorder.observe(levels_of(state), at(minute))
        assert recorder.status.waiting <= 2
    other.execute("ROLLBACK")
    other.close()
    recorder.observe(levels_of(state), at(10))
    recorder.close()
    # The third change, at minute 3, 6 and 9, gives up what waited.
    assert written(path)[1:] == [Gap(at_ms=at(9), since_ms=at(0)), held(9, 1_000)]


def world_where_the_other_team_works() -> ClusterState:
    state = world()
    state.apply(started("work", "n1"))
    return state


REASONS_TO_GIVE_UP = {
    "a resource is gone": world_that_counts("cpu"),
    "a resource comes": world_that_counts("memory", "gpu", "cpu"),
    "the two changes are one too many": world_where_the_other_team_works(),
}


@pytest.mark.parametrize("after", REASONS_TO_GIVE_UP.values(), ids=REASONS_TO_GIVE_UP)
def test_what_is_given_up_is_a_gap_however_short(path: Path, after: ClusterState) -> None:
    """All is known at minute 1. What the look of half a minute later found is given up."""
    state, recorder = world(), Recorder(path, most_waiting=1)
    recorder.observe(levels_of(state), at(0))
    recorder.observe(levels_of(state), at(1))
    with locked(path):
        state.apply(started("job", "n1"))
        recorder.observe(levels_of(state), at(1.5))
        assert recorder.status.waiting == 1
        recorder.observe(levels_of(after), at(2))
        assert recorder.status.waiting == 0
    recorder.observe(levels_of(after), at(3))
    recorder.close()
    assert [each for each in written(path) if isinstance(each, Gap)] == [
        Gap(at_ms=at(2), since_ms=at(1))
    ]


def test_what_contradicts_another_program_is_given_up_for_a_gap(path: Path) -> None:
    """A gap from minute 1 on waits, and meanwhile an administrator grants something there."""
    state, recorder = world(), Recorder(path)
    recorder.observe(levels_of(state), at(0))
    with locked(path):
        state.apply(started("job", "n1"))
        recorder.observe(levels_of(state), at(1))
        recorder.observe(levels_of(state), at(20))
    grant = Granted(at_ms=at(10), queue=TEAM, resource_time=(0, 9), who="ann", reason="r")
    with UsageStore.open(path) as store:
        store.append([grant])
    recorder.observe(levels_of(state), at(21))
    assert not is_well(recorder)
    recorder.observe(levels_of(state), at(22))
    recorder.close()
    assert is_well(recorder)
    assert written(path)[1:] == [
        Gap(at_ms=at(10) - 1, since_ms=at(0)),
        grant,
        Gap(at_ms=at(22), since_ms=at(10)),
        held(22, 1_000),
    ]


def test_another_file_in_the_same_place_is_told_everything(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    state.apply(started("job", "n1"))
    recorder.observe(levels_of(state), at(0))
    recorder.close()
    for file in path.parent.iterdir():
        file.unlink()
    recorder.observe(levels_of(state), at(1))
    recorder.close()
    assert written(path) == [Capacity(at_ms=at(1), amounts=(8_000, 8_000)), held(1, 1_000)]


def test_in_another_file_a_gap_begins_where_that_one_ended(path: Path) -> None:
    """We looked up to minute 1; in the file that is put there somebody did 10 minutes before."""
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(0))
    recorder.close()
    for file in path.parent.iterdir():
        file.unlink()
    other = Recorder(path)
    other.observe(levels_of(world()), at(-10))
    other.close()
    recorder.observe(levels_of(world()), at(1))
    recorder.close()
    assert written(path)[1:] == [Gap(at_ms=at(1), since_ms=at(-10))]


@settings(deadline=None, max_examples=scale_examples(30))
@given(
    looks=st.lists(
        st.tuples(st.sampled_from(["job", "work", ""]), st.booleans(), st.booleans()), max_size=12
    )
)
def test_whatever_fails_meanwhile_the_sums_are_those_of_the_looks(
    looks: list[tuple[str, bool, bool]],
) -> None:
    """A look a minute at jobs that start and stop; the store fails now and then, or we restart.

    Only a restart in a degraded state loses something, and that is left out here.
    """
    state = world()
    used = {TEAM: 0, OTHER: 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "use.db"
        recorder = Recorder(path)
        recorder.observe(levels_of(state), at(0))
        other = sqlite3.connect(path, isolation_level=None)
        for minute, (name, is_locked, restarts) in enumerate(looks, 1):
            for each, sums in levels_of(state).held.items():
                if each in used:
                    used[each] += sums[0] * MINUTE
            if name:
                runs = WorkloadName(name) in state.runs
                state.apply(stopped(WorkloadName(name)) if runs else started(name, "n1"))
            if restarts and is_well(recorder):
                recorder.close()
                recorder = Recorder(path)
            if is_locked:
                other.execute("BEGIN IMMEDIATE")
            recorder.observe(levels_of(state), at(minute))
            if is_locked:
                other.execute("ROLLBACK")
        recorder.observe(levels_of(state), now_ms := at(len(looks)) + 10_000)
        other.close()
        recorder.close()
        with UsageStore.open(path, writes=False) as store:
            found = store.ledger(UsageRules(window=Sliding(DAY)), now_ms).usage(now_ms)
    for each, sums in levels_of(state).held.items():
        if each in used:
            wanted = used[each] + sums[0] * 10_000
            assert (found.queues[each].all[0] if each in found.queues else 0) == wanted
