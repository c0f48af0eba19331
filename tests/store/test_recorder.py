"""A recorder writes what changes, goes on where a file ended, and survives what fails."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    QueueRemoved,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStopped,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.store.file import schema
from fairlead.store.file.saved_ledger import saved_ledger
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording import upkeep
from fairlead.store.recording.recorder import Recorder, StoreStatus
from fairlead.store.recording.state_levels import levels_of
from fairlead.usage.entries import Capacity, Entry, Gap, Granted, Guarantee, Held, Removed
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.model.worlds import RESOURCES, node, queue, started, state_with, workload

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
START = 1_770_000_000_000
TEAM, OTHER = QueueName("team"), QueueName("other")
JOB, WORK = WorkloadName("job"), WorkloadName("work")


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "use.db"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_S", 0.001)


def world() -> ClusterState:
    """Two teams below one department, a job of 1 cpu and 1 GPU for each, 8 of both."""
    return state_with(
        queue("department"),
        queue("team", "department"),
        queue("other", "department"),
        node("n1"),
        workload("job", "team"),
        workload("work", "other"),
    )


def world_that_counts(*axes: str) -> ClusterState:
    """One team with nothing that runs, and a node with 8 of each of the axes."""
    state = ClusterState((*RESOURCES, "memory"), QuotaAxes([Axis(axis) for axis in axes]))
    state.apply(QueueChanged(queue("team", axes=len(axes))))
    allocatable = msgspec.structs.replace(node("n1"), allocatable=(8_000,) * 3, occupied=(0,) * 3)
    state.apply(NodeAdded(allocatable))
    return state


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the store, and changes nothing."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


def at(minute: float) -> int:
    return START + int(minute * MINUTE)


def held(minute: float, amount: int, queue: QueueName = TEAM) -> Held:
    return Held(at_ms=at(minute), queue=queue, amounts=(amount, amount))


def stopped(name: WorkloadName) -> WorkloadStopped:
    return WorkloadStopped(workload=name, pods=(PodId(0, 0),))


def is_well(recorder: Recorder) -> bool:
    return recorder.status.state == "ok"


def written(path: Path) -> list[Entry]:
    with UsageStore.open(path, writes=False) as store:
        store.check()
        return list(store.entries())


def test_the_first_look_tells_everything_and_later_ones_what_changed(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    state.apply(started("job", "n1"))
    recorder.observe(state, at(0))
    recorder.observe(state, at(1))
    state.apply(started("work", "n1"))
    recorder.observe(state, at(2))
    state.apply(stopped(JOB))
    recorder.observe(state, at(3))
    recorder.close()
    assert written(path) == [
        Capacity(at_ms=at(0), amounts=(8_000, 8_000)),
        held(0, 1_000),
        held(2, 1_000, OTHER),
        held(3, 0),
    ]


def test_a_look_without_a_change_is_remembered_all_the_same(path: Path) -> None:
    recorder = Recorder(path)
    for minute in range(4):
        recorder.observe(world(), at(minute))
    recorder.close()
    with UsageStore.open(path, writes=False) as store:
        assert store.observed_ms == store.newest_ms == at(3)
        assert len(list(store.entries())) == 1  # the capacity


def test_looks_that_find_nothing_new_are_written_now_and_then(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look every 20 s; a fifth of 5 minutes is 60 s. The job starts at 100 s: 100 + 60 = 160."""
    looks_s: list[int] = []
    append = UsageStore.append

    def noted(store: UsageStore, entries: list[Entry], *, observed_ms: int) -> None:
        looks_s.append((observed_ms - START) // 1000)
        append(store, entries, observed_ms=observed_ms)

    monkeypatch.setattr(UsageStore, "append", noted)
    state, recorder = world(), Recorder(path, gap_after_ms=5 * MINUTE)
    for second in range(0, 201, 20):
        if second == 100:
            state.apply(started("job", "n1"))
        recorder.observe(state, START + second * 1000)
    assert looks_s == [0, 60, 100, 160]
    recorder.close()
    assert looks_s == [0, 60, 100, 160, 200], "the last one is written in the end"
    with UsageStore.open(path, writes=False) as store:
        assert store.observed_ms == START + 200_000


def test_a_gap_begins_at_the_last_look_even_if_that_was_not_written(path: Path) -> None:
    recorder = Recorder(path)
    for minute in (0, 0.75, 60):
        recorder.observe(world(), at(minute))
    recorder.close()
    assert written(path)[1:] == [Gap(at_ms=at(60), since_ms=at(0.75))]


def test_guarantees_are_told_of_queues_that_hold(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(0))
    for name, parent in (("team", "department"), ("department", None)):
        more = msgspec.structs.replace(queue(name, parent), guaranteed=(2_000, None))
        state.apply(QueueChanged(more))
    recorder.observe(state, at(1))
    recorder.close()
    assert written(path)[1:] == [Guarantee(at_ms=at(1), queue=TEAM, amounts=(2_000, None))]


def test_a_pod_that_leaves_holds_until_it_left_and_a_reservation_holds_nothing() -> None:
    state = world()
    state.apply(started("job", "n1"))
    state.apply(WorkloadLeaving(workload=JOB, pods=(PodId(0, 0),)))
    place = Placement(PodId(0, 0), "n1")
    state.apply(WorkloadReserved(workload=WORK, placements=(place,), at_ms=0))
    levels = levels_of(state)
    assert levels.held[TEAM] == (1_000, 1_000)
    assert levels.held[OTHER] == (0, 0)
    assert levels.held[QueueName("department")] == (0, 0), "what is below is told there"


def test_a_queue_that_is_gone_is_told(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(0))
    state.apply(QueueRemoved(OTHER))
    recorder.observe(state, at(1))
    recorder.close()
    assert written(path)[-1] == Removed(at_ms=at(1), queue=OTHER)


def test_a_clock_that_jumps_back_stands_still(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(5))
    state.apply(started("job", "n1"))
    recorder.observe(state, at(3))
    recorder.close()
    assert written(path)[-1] == held(5, 1_000)


RESTARTS = {
    # minute of the restart, and what is written then; the last look was at minute 1
    "soon after": (4, []),
    "long after": (60, [Gap(at_ms=at(60), since_ms=at(1))]),
}


@pytest.mark.parametrize(("minute", "wanted"), RESTARTS.values(), ids=RESTARTS)
def test_a_scheduler_that_starts_again(path: Path, minute: int, wanted: list[Entry]) -> None:
    state = world()
    state.apply(started("job", "n1"))
    for look in (0, 1, minute):
        recorder = Recorder(path)
        recorder.observe(state, at(look))
        recorder.close()
    assert written(path)[2:] == wanted


def test_what_changed_while_nobody_looked_is_told_after_the_gap(path: Path) -> None:
    """The job is done and its queue is gone; a user held something in an imported history."""
    state = world()
    state.apply(started("job", "n1"))
    first = Recorder(path)
    first.observe(state, at(0))
    first.close()
    with UsageStore.open(path) as store:
        store.append([Held(at_ms=at(0), queue=OTHER, user="eve", amounts=(1, 1))])
    after = state_with(queue("other"), node("n1"), workload("work", "other"))
    second = Recorder(path)
    second.observe(after, at(30))
    second.close()
    assert written(path)[3:] == [
        Gap(at_ms=at(30), since_ms=at(0)),
        Held(at_ms=at(30), queue=OTHER, user="eve", amounts=(0, 0)),
        Removed(at_ms=at(30), queue=TEAM),
    ]


@pytest.mark.parametrize("restarts", [True, False])
def test_what_an_administrator_writes_in_a_gap_stays(path: Path, restarts: bool) -> None:
    recorder = Recorder(path)
    recorder.observe(world(), at(0))
    grant = Granted(at_ms=at(20), queue=TEAM, resource_time=(0, 9), who="ann", reason="r")
    with UsageStore.open(path) as store:
        store.append([grant])
    if restarts:
        recorder.close()
        recorder = Recorder(path)
    recorder.observe(world(), at(60))
    recorder.close()
    assert is_well(recorder)
    assert written(path)[1:] == [
        Gap(at_ms=at(20) - 1, since_ms=at(0)),
        grant,
        Gap(at_ms=at(60), since_ms=at(20)),
    ]


def test_what_is_imported_after_the_last_look_outlives_a_restart(path: Path) -> None:
    """Hour 0: the last look. Imported: ann held 1,000 from hour 1 to hour 20. Hour 24: restart.

    19 hours x 1,000 stay; a grant of hour 22 does too, and only hours 20 to 24 are a gap.
    """
    first = Recorder(path)
    first.observe(world(), at(0))
    first.close()
    imported = [
        Held(at_ms=at(hour * 60), queue=TEAM, user="ann", amounts=(amount, 0))
        for hour, amount in ((1, 1_000), (20, 0))
    ]
    grant = Granted(at_ms=at(22 * 60), queue=OTHER, resource_time=(0, 9), who="eve", reason="r")
    with UsageStore.open(path) as store:
        store.append([*imported, grant])
    second = Recorder(path)
    second.observe(world(), now_ms := at(24 * 60))
    second.close()
    assert written(path)[3:] == [
        Gap(at_ms=at(22 * 60) - 1, since_ms=at(20 * 60)),
        grant,
        Gap(at_ms=now_ms, since_ms=at(22 * 60)),
    ]
    with UsageStore.open(path, writes=False) as store:
        used = store.ledger(UsageRules(window=Sliding(2 * DAY)), now_ms).usage(now_ms)
    assert used.queues[TEAM].all == (19 * 60 * MINUTE * 1_000, 0)


def test_an_imported_gap_is_not_told_again(path: Path) -> None:
    """Known until minute 10, a gap to minute 30, and the next look is at minute 60."""
    imported: list[Entry] = [held(0, 1_000), Gap(at_ms=at(30), since_ms=at(10))]
    resources = tuple(map(str, world().axes.axes))
    with UsageStore.open(path, resources=resources) as store:
        store.append(imported)
    recorder = Recorder(path)
    recorder.observe(world(), at(60))
    recorder.close()
    assert is_well(recorder), recorder.status
    assert written(path)[:3] == [*imported, Gap(at_ms=at(60), since_ms=at(30))]


def test_a_store_that_fails_at_the_start_is_degraded_and_then_catches_up(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    path.mkdir()
    recorder.observe(state, at(0))
    state.apply(started("job", "n1"))
    recorder.observe(state, at(1))
    status = recorder.status
    assert (status.state, status.since_ms, status.waiting) == ("degraded", at(0), 1)
    assert status.problem == f"usage store {path}: it is a folder; name a file in it"
    path.rmdir()
    recorder.observe(state, at(2))
    assert recorder.status == StoreStatus()
    recorder.close()
    assert written(path) == [Capacity(at_ms=at(0), amounts=(8_000, 8_000)), held(1, 1_000)]


def test_a_locked_store_loses_nothing(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(0))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    state.apply(started("job", "n1"))
    recorder.observe(state, at(1))
    assert not is_well(recorder)
    assert "locked" in str(recorder.status.problem)
    state.apply(started("work", "n1"))
    recorder.observe(state, at(2))
    assert recorder.status.waiting == 2
    other.execute("ROLLBACK")
    other.close()
    recorder.observe(state, at(3))
    recorder.close()
    assert is_well(recorder)
    assert written(path)[1:] == [held(1, 1_000), held(2, 1_000, OTHER)]


def test_a_store_that_fails_is_not_tried_in_every_cycle(path: Path) -> None:
    recorder = Recorder(path)
    path.mkdir()
    recorder.observe(world(), at(0))
    path.rmdir()
    recorder.observe(world(), at(0) + 9_999)
    assert not path.exists()
    recorder.observe(world(), at(0) + 10_000)
    assert path.exists()
    recorder.close()


def test_too_much_that_waits_is_given_up_for_a_gap(path: Path) -> None:
    """At most 2 wait. Every minute the job starts or stops; at minute 10 the store is back."""
    state, recorder = world(), Recorder(path, most_waiting=2)
    recorder.observe(state, at(0))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for minute in range(1, 10):
        state.apply(started("job", "n1") if minute % 2 else stopped(JOB))
        recorder.observe(state, at(minute))
        assert recorder.status.waiting <= 2
    other.execute("ROLLBACK")
    other.close()
    recorder.observe(state, at(10))
    recorder.close()
    # The third change, at minute 3, 6 and 9, gives up what waited.
    assert written(path)[1:] == [Gap(at_ms=at(9), since_ms=at(0)), held(9, 1_000)]


def test_what_waits_is_kept_when_a_resource_comes(path: Path) -> None:
    """The job ran from minute 1 to minute 4 while the store failed; then memory is counted, too."""
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(0))
    with locked(path):
        state.apply(started("job", "n1"))
        recorder.observe(state, at(1))
        state.apply(stopped(JOB))
        recorder.observe(state, at(4))
    recorder.observe(world_that_counts("memory", "gpu", "cpu"), at(5))
    recorder.close()
    assert is_well(recorder)
    with UsageStore.open(path, writes=False) as store:
        assert store.resources == ("cpu", "gpu", "memory")
    assert written(path) == [
        Capacity(at_ms=at(0), amounts=(8_000, 8_000, 0)),
        Held(at_ms=at(1), queue=TEAM, amounts=(1_000, 1_000, 0)),
        Held(at_ms=at(4), queue=TEAM, amounts=(0, 0, 0)),
        Capacity(at_ms=at(5), amounts=(8_000, 0, 8_000)),
        Removed(at_ms=at(5), queue=QueueName("department")),
        Removed(at_ms=at(5), queue=OTHER),
    ]


def test_what_was_seen_before_the_first_write_is_kept_when_a_resource_comes(path: Path) -> None:
    recorder = Recorder(path)
    path.mkdir()
    recorder.observe(world_that_counts("cpu"), at(0))
    path.rmdir()
    recorder.observe(world_that_counts("memory", "cpu"), at(1))
    recorder.close()
    # memory comes first in the file: it is made by the second look
    assert written(path) == [
        Capacity(at_ms=at(0), amounts=(0, 8_000)),
        Capacity(at_ms=at(1), amounts=(8_000, 8_000)),
    ]


def world_where_the_other_team_works() -> ClusterState:
    state = world()
    state.apply(started("work", "n1"))
    return state


REASONS_TO_GIVE_UP = {
    "a resource is gone": world_that_counts("cpu"),
    "the two changes are one too many": world_where_the_other_team_works(),
}


@pytest.mark.parametrize("after", REASONS_TO_GIVE_UP.values(), ids=REASONS_TO_GIVE_UP)
def test_what_is_given_up_is_a_gap_however_short(path: Path, after: ClusterState) -> None:
    """All is known at minute 1. What the look of half a minute later found is given up."""
    state, recorder = world(), Recorder(path, most_waiting=1)
    recorder.observe(state, at(0))
    recorder.observe(state, at(1))
    with locked(path):
        state.apply(started("job", "n1"))
        recorder.observe(state, at(1.5))
        assert recorder.status.waiting == 1
        recorder.observe(after, at(2))
        assert recorder.status.waiting == 0
    recorder.observe(after, at(3))
    recorder.close()
    assert [each for each in written(path) if isinstance(each, Gap)] == [
        Gap(at_ms=at(2), since_ms=at(1))
    ]


def test_what_contradicts_another_program_is_given_up_for_a_gap(path: Path) -> None:
    """A gap from minute 1 on waits, and meanwhile an administrator grants something there."""
    state, recorder = world(), Recorder(path)
    recorder.observe(state, at(0))
    with locked(path):
        state.apply(started("job", "n1"))
        recorder.observe(state, at(1))
        recorder.observe(state, at(20))
    grant = Granted(at_ms=at(10), queue=TEAM, resource_time=(0, 9), who="ann", reason="r")
    with UsageStore.open(path) as store:
        store.append([grant])
    recorder.observe(state, at(21))
    assert not is_well(recorder)
    recorder.observe(state, at(22))
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
    recorder.observe(state, at(0))
    recorder.close()
    for file in path.parent.iterdir():
        file.unlink()
    recorder.observe(state, at(1))
    recorder.close()
    assert written(path) == [Capacity(at_ms=at(1), amounts=(8_000, 8_000)), held(1, 1_000)]


def test_tidying_up_rolls_up_and_saves_a_snapshot_once_a_day(path: Path) -> None:
    state, recorder = world(), Recorder(path, keep_raw_ms=DAY)
    recorder.observe(state, at(0))
    assert recorder._store is not None
    # Nothing crashes here, and waiting 864 times for the disk would be most of the time.
    recorder._store._connection.execute("PRAGMA synchronous = OFF")
    for minute in range(5, 3 * 24 * 60, 5):
        state.apply(stopped(JOB) if state.runs else started("job", "n1"))
        recorder.observe(state, at(minute))
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
        row = store._connection.execute("SELECT position FROM snapshot").fetchone()
        if row is None:
            return None
        later = "SELECT count(*) FROM changes WHERE key > ?"
        return int(store._connection.execute(later, row).fetchone()[0])


def test_closing_saves_a_snapshot_so_that_the_next_start_reads_nothing(path: Path) -> None:
    """Also when nothing changed, and when the clock was behind what is written."""
    rules = UsageRules(window=Sliding(DAY), half_life_ms=DAY)
    for minute in (9, 5, 6):
        state, recorder = world(), Recorder(path, rules)
        state.apply(started("job", "n1"))
        recorder.observe(state, at(minute))
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
    recorder.observe(world(), at(1))
    recorder.close()
    assert len(written(path)) == 1
    assert unsaved_rows(path) == 0


def test_a_snapshot_has_all_that_is_written_even_if_the_clock_is_behind(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(world(), at(9))
    recorder.tidy_up(at(5))
    assert unsaved_rows(path) == 0
    recorder.close()


def test_closing_a_store_that_fails_raises_nothing(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(world(), at(0))
    with locked(path):
        recorder.close()
        assert not is_well(recorder)
        assert "locked" in str(recorder.status.problem)
    assert not has_snapshot(path)
    recorder.observe(world(), at(1))
    recorder.close()
    assert is_well(recorder)
    assert unsaved_rows(path) == 0


def test_a_snapshot_is_saved_whenever_there_is_much_to_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every 3 entries here. The first is of minute 0; each minute there is one more."""
    monkeypatch.setattr(upkeep, "SAVE_AFTER_ENTRIES", 3)
    state, recorder = world(), Recorder(path)
    unsaved = []
    for minute in range(8):
        recorder.observe(state, at(minute))
        recorder.tidy_up(at(minute))
        unsaved.append(unsaved_rows(path))
        state.apply(stopped(JOB) if state.runs else started("job", "n1"))
    recorder.close()
    assert unsaved == [0, 1, 2, 0, 1, 2, 0, 1]


def test_tidying_up_that_fails_is_tried_again(path: Path) -> None:
    recorder = Recorder(path)
    recorder.observe(world(), at(0))
    with locked(path):
        recorder.tidy_up(at(0))
    assert not is_well(recorder)
    recorder.observe(world(), at(0) + 9_999)
    recorder.tidy_up(at(0) + 9_999)
    assert not has_snapshot(path)
    recorder.observe(world(), at(0) + 10_000)
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
    recorder.observe(world(), at(0))
    for minute in (year, 0, 1, 24 * 60 - 1, 24 * 60):
        recorder.tidy_up(at(minute))
    recorder.close()
    assert tidied == [at(year), at(0), at(24 * 60)]


@settings(deadline=None, max_examples=30)
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
        recorder.observe(state, at(0))
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
            recorder.observe(state, at(minute))
            if is_locked:
                other.execute("ROLLBACK")
        recorder.observe(state, now_ms := at(len(looks)) + 10_000)
        other.close()
        recorder.close()
        with UsageStore.open(path, writes=False) as store:
            found = store.ledger(UsageRules(window=Sliding(DAY)), now_ms).usage(now_ms)
    for each, sums in levels_of(state).held.items():
        if each in used:
            wanted = used[each] + sums[0] * 10_000
            assert (found.queues[each].all[0] if each in found.queues else 0) == wanted
