"""A recorder writes what changes, and goes on where a file ended."""

from pathlib import Path

import msgspec
import pytest

from fairlead.model.axes import QueueName
from fairlead.model.events import (
    Placement,
    QueueChanged,
    QueueRemoved,
    WorkloadLeaving,
    WorkloadReserved,
)
from fairlead.model.workload import numbered_pod
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.recorder import Recorder
from fairlead.store.recording.state_levels import levels_of
from fairlead.usage.entries import Capacity, Entry, Gap, Granted, Guarantee, Held, Removed
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.model.worlds import node, queue, started, state_with, workload
from tests.store.recorded_world import (
    DAY,
    JOB,
    MINUTE,
    OTHER,
    START,
    TEAM,
    WORK,
    at,
    held,
    is_well,
    stopped,
    world,
    world_that_counts,
    written,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "use.db"


def test_the_first_look_tells_everything_and_later_ones_what_changed(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    state.apply(started("job", "n1"))
    recorder.observe(levels_of(state), at(0))
    recorder.observe(levels_of(state), at(1))
    state.apply(started("work", "n1"))
    recorder.observe(levels_of(state), at(2))
    state.apply(stopped(JOB))
    recorder.observe(levels_of(state), at(3))
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
        recorder.observe(levels_of(world()), at(minute))
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
        recorder.observe(levels_of(state), START + second * 1000)
    assert looks_s == [0, 60, 100, 160]
    recorder.close()
    assert looks_s == [0, 60, 100, 160, 200], "the last one is written in the end"
    with UsageStore.open(path, writes=False) as store:
        assert store.observed_ms == START + 200_000


def test_a_gap_begins_at_the_last_look_even_if_that_was_not_written(path: Path) -> None:
    recorder = Recorder(path)
    for minute in (0, 0.75, 60):
        recorder.observe(levels_of(world()), at(minute))
    recorder.close()
    assert written(path)[1:] == [Gap(at_ms=at(60), since_ms=at(0.75))]


def test_guarantees_are_told_of_queues_that_hold(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(levels_of(state), at(0))
    for name, parent in (("team", "department"), ("department", None)):
        more = msgspec.structs.replace(queue(name, parent), guaranteed=(2_000, None))
        state.apply(QueueChanged(more))
    recorder.observe(levels_of(state), at(1))
    recorder.close()
    assert written(path)[1:] == [Guarantee(at_ms=at(1), queue=TEAM, amounts=(2_000, None))]


def test_a_pod_that_leaves_holds_until_it_left_and_a_reservation_holds_nothing() -> None:
    state = world()
    state.apply(started("job", "n1"))
    state.apply(WorkloadLeaving(workload=JOB, pods=(numbered_pod("main", 0),)))
    place = Placement(numbered_pod("main", 0), "n1")
    state.apply(WorkloadReserved(workload=WORK, placements=(place,), at_ms=0))
    levels = levels_of(state)
    assert levels.held[TEAM] == (1_000, 1_000)
    assert levels.held[OTHER] == (0, 0)
    assert levels.held[QueueName("department")] == (0, 0), "what is below is told there"


def test_a_queue_that_is_gone_is_told(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(levels_of(state), at(0))
    state.apply(QueueRemoved(OTHER))
    recorder.observe(levels_of(state), at(1))
    recorder.close()
    assert written(path)[-1] == Removed(at_ms=at(1), queue=OTHER)


@pytest.mark.parametrize("restarts", [True, False])
def test_what_is_not_counted_any_more_is_there_no_more(path: Path, restarts: bool) -> None:
    recorder = Recorder(path)
    recorder.observe(levels_of(world_that_counts("cpu", "memory")), at(0))
    if restarts:
        recorder.close()
        recorder = Recorder(path)
    recorder.observe(levels_of(world_that_counts("cpu")), at(0.1))
    with UsageStore.open(path, writes=False) as store:
        assert list(store.entries())[1:] == [Capacity(at_ms=at(0.1), amounts=(8_000, 0))]
    recorder.close()


def test_a_clock_that_jumps_back_stands_still(path: Path) -> None:
    state, recorder = world(), Recorder(path)
    recorder.observe(levels_of(state), at(5))
    state.apply(started("job", "n1"))
    recorder.observe(levels_of(state), at(3))
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
        recorder.observe(levels_of(state), at(look))
        recorder.close()
    assert written(path)[2:] == wanted


def test_what_changed_while_nobody_looked_is_told_after_the_gap(path: Path) -> None:
    """The job is done and its queue is gone; a user held something in an imported history."""
    state = world()
    state.apply(started("job", "n1"))
    first = Recorder(path)
    first.observe(levels_of(state), at(0))
    first.close()
    with UsageStore.open(path) as store:
        store.append([Held(at_ms=at(0), queue=OTHER, user="eve", amounts=(1, 1))])
    after = state_with(queue("other"), node("n1"), workload("work", "other"))
    second = Recorder(path)
    second.observe(levels_of(after), at(30))
    second.close()
    assert written(path)[3:] == [
        Gap(at_ms=at(30), since_ms=at(0)),
        Held(at_ms=at(30), queue=OTHER, user="eve", amounts=(0, 0)),
        Removed(at_ms=at(30), queue=TEAM),
    ]


@pytest.mark.parametrize("restarts", [True, False])
def test_what_an_administrator_writes_in_a_gap_stays(path: Path, restarts: bool) -> None:
    recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(0))
    grant = Granted(at_ms=at(20), queue=TEAM, resource_time=(0, 9), who="ann", reason="r")
    with UsageStore.open(path) as store:
        store.append([grant])
    if restarts:
        recorder.close()
        recorder = Recorder(path)
    recorder.observe(levels_of(world()), at(60))
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
    first.observe(levels_of(world()), at(0))
    first.close()
    imported = [
        Held(at_ms=at(hour * 60), queue=TEAM, user="ann", amounts=(amount, 0))
        for hour, amount in ((1, 1_000), (20, 0))
    ]
    grant = Granted(at_ms=at(22 * 60), queue=OTHER, resource_time=(0, 9), who="eve", reason="r")
    with UsageStore.open(path) as store:
        store.append([*imported, grant])
    second = Recorder(path)
    second.observe(levels_of(world()), now_ms := at(24 * 60))
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
    recorder.observe(levels_of(world()), at(60))
    recorder.close()
    assert is_well(recorder), recorder.status
    assert written(path)[:3] == [*imported, Gap(at_ms=at(60), since_ms=at(30))]
