"""A small cluster that a recorder looks at, and what it wrote about it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    QueueChanged,
    WorkloadStopped,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import numbered_pod
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.recorder import Recorder
from fairlead.usage.entries import Entry, Held
from tests.model.worlds import RESOURCES, node, queue, state_with, workload

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
START = 1_770_000_000_000
TEAM, OTHER = QueueName("team"), QueueName("other")
JOB, WORK = WorkloadName("job"), WorkloadName("work")


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
    """One team with nothing that runs, and a node with 8 of cpu and of memory."""
    state = ClusterState((*RESOURCES, "memory"), QuotaAxes([Axis(axis) for axis in axes]))
    state.apply(QueueChanged(queue("team", axes=len(axes))))
    allocatable = msgspec.structs.replace(node("n1"), allocatable=(8_000,) * 3)
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
    return WorkloadStopped(workload=name, pods=(numbered_pod("main", 0),))


def is_well(recorder: Recorder) -> bool:
    return recorder.status.state == "ok"


def written(path: Path) -> list[Entry]:
    with UsageStore.open(path, writes=False) as store:
        store.check()
        return list(store.entries())
