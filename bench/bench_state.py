"""Events and trials on a state of 1,000 queues and 10,000 workloads."""

from decimal import Decimal

from bench.harness import Work, benchmark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods")
QUEUES = 1_000
WORKLOADS = 10_000
GOAL_MS = 0.020


def _queue(name: str, parent: str | None) -> Queue:
    return Queue(
        name=QueueName(name),
        parent=QueueName(parent) if parent else None,
        weights=(Decimal(1),) * 3,
        guaranteed=(1000, 1000, 1000),
        ceiling=(None,) * 3,
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
    )


def _workload(number: int) -> Workload:
    return Workload(
        name=WorkloadName(f"w{number}"),
        queue=QueueName(f"q{number % (QUEUES - 10)}"),
        pod_sets=PodSets(
            (PodSet(name="main", count=1, min_count=1, requests=(1000, 2**30, 1000, 1)),)
        ),
        min_count=1,
    )


def _start(number: int) -> WorkloadStarted:
    return WorkloadStarted(
        workload=WorkloadName(f"w{number}"),
        placements=(Placement(numbered_pod("main", 0), f"n{number % 100}"),),
        at_ms=0,
    )


def _world() -> ClusterState:
    """Ten departments and 990 teams below them; half of the work runs, half waits."""
    axes = QuotaAxes(
        [Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"}
    )
    state = ClusterState(RESOURCES, axes)
    for number in range(100):
        size = (64_000, 2**38, 8_000, 110)
        node = Node(name=f"n{number}", allocatable=size)
        state.apply(NodeAdded(node))
    for number in range(10):
        state.apply(QueueChanged(_queue(f"d{number}", None)))
    for number in range(QUEUES - 10):
        state.apply(QueueChanged(_queue(f"q{number}", f"d{number % 10}")))
    for number in range(WORKLOADS):
        state.apply(WorkloadAdded(_workload(number)))
        if number % 2 == 0:
            state.apply(_start(number))
    return state


@benchmark("one event into 1,000 queues, 10,000 workloads", goal_cpu_ms=GOAL_MS, operations=2)
def one_event() -> Work:
    """A workload starts, and stops again: two events."""
    state = _world()
    start = _start(WORKLOADS - 1)
    stop = WorkloadStopped(workload=start.workload, pods=(numbered_pod("main", 0),))

    def work() -> None:
        state.apply(start)
        state.apply(stop)

    return work


@benchmark("mark, trial placement and roll-back, same state", goal_cpu_ms=GOAL_MS)
def trial_placement() -> Work:
    """What a search for a place does for each place that it tries."""
    state = _world()
    start = _start(WORKLOADS - 1)

    def work() -> None:
        mark = state.mark()
        state.apply(start)
        state.roll_back(mark)

    return work
