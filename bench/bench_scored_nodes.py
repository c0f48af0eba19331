"""The best node by score among 1,000, first of all and again after each start.

The nodes have 64 cores, 256 GiB and 8 GPUs, and 4 pods each, of sizes drawn from four. The pods
asked for have 1 GPU, so that those started in a row fit.
"""

from collections.abc import Sequence
from random import Random

from bench.harness import Work, benchmark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import NodeAdded, Placement, WorkloadAdded, WorkloadStarted
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod
from fairlead.placement.scored_nodes import ScoredNodes

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods")
GIB = 2**30
NODES = 1_000
RUNNING = 4 * NODES
STARTS = 1_000
FIRST = numbered_pod("main", 0)


def _pods(cores: int, gib: int, gpus: int) -> PodSet:
    requests = (cores * 1000, gib * GIB, gpus * 1000, 1)
    return PodSet(name="main", count=1, min_count=1, requests=requests)


SIZES = (_pods(4, 16, 1), _pods(2, 32, 1), _pods(8, 8, 1), _pods(0, 0, 1))


def _workload(number: int, asked: PodSet) -> Workload:
    name = WorkloadName(f"w{number}")
    return Workload(name=name, queue=QueueName("q"), pod_sets=PodSets((asked,)), min_count=1)


def _start(number: int, node: str) -> WorkloadStarted:
    places = (Placement(FIRST, node),)
    return WorkloadStarted(workload=WorkloadName(f"w{number}"), placements=places, at_ms=0)


def _world(waiting: Sequence[PodSet]) -> ClusterState:
    """Return nodes that are half full, and pods that wait with the numbers after those there."""
    state = ClusterState(RESOURCES, QuotaAxes([Axis("cpu")]))
    for number in range(NODES):
        size = (64_000, 256 * GIB, 8_000, 110)
        state.apply(NodeAdded(Node(name=f"n{number}", allocatable=size)))
    draw = Random(7)  # always the same world
    for number in range(RUNNING):
        state.apply(WorkloadAdded(_workload(number, draw.choice(SIZES))))
        state.apply(_start(number, f"n{number % NODES}"))
    for number, asked in enumerate(waiting, RUNNING):
        state.apply(WorkloadAdded(_workload(number, asked)))
    return state


@benchmark("scored nodes: the first question about 1,000 nodes", goal_cpu_ms=20)
def first() -> Work:
    """Reads 4,000 pods on 1,000 nodes, scores each node and sorts them."""
    state = _world(())

    def work() -> None:
        next(ScoredNodes(state, "LeastAllocated").best_first(SIZES[0]))

    return work


@benchmark("scored nodes: a kind of pod not asked for before", goal_cpu_ms=8, operations=50)
def another_kind() -> Work:
    """The nodes have been read; each is scored, and they are sorted."""
    state = _world(())
    kinds = [_pods(1, number, 1) for number in range(50)]

    def work() -> None:
        scored = ScoredNodes(state, "LeastAllocated", remembered=1)
        for kind in kinds:
            next(scored.best_first(kind))

    return work


@benchmark(
    "scored nodes: start on the best and ask again, of 1,000", goal_cpu_ms=0.1, operations=STARTS
)
def start_and_ask() -> Work:
    """A thousand pods of one kind, each started where it scores best; taken back at the end."""
    return _in_a_row([SIZES[0]] * STARTS)


@benchmark(
    "scored nodes: the same with four kinds of pod in turn", goal_cpu_ms=0.16, operations=STARTS
)
def four_kinds() -> Work:
    """Each kind has fallen three starts behind when it is asked for again."""
    return _in_a_row([SIZES[number % 4] for number in range(STARTS)])


def _in_a_row(waiting: Sequence[PodSet]) -> Work:
    state = _world(waiting)
    scored = ScoredNodes(state, "LeastAllocated")

    def work() -> None:
        with state.trial():
            for number, asked in enumerate(waiting, RUNNING):
                state.apply(_start(number, next(scored.best_first(asked))))

    return work
