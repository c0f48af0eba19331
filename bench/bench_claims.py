"""A full cycle in which jobs take places from others: the worlds of KAI's own figures.

The worlds are those of ``kai-bench-worlds.json``, made from its counts. A cycle runs on a state on
trial, so every run begins from the same state; the outcome is that which KAI had.
"""

from collections import Counter
from decimal import Decimal

from bench.harness import Work, benchmark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.collector import paused_collector
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.node import Node
from fairlead.model.plan import Decision
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.api import new_cycle
from fairlead.policy.kai.settings import ACTIONS, KaiSettings

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
GPUS = 8_000  # of a node, in thousandths
NO_LIMITS = (None, None, None)
HOUR_MS = 3_600_000


@benchmark("cycle: 100 jobs reclaim among 8,000 that run", goal_cpu_ms=1_000, peer="KAI 9.3-11.2 s")
def reclaim_hundred() -> Work:
    """On 1,000 nodes."""
    return _reclaim(nodes=1_000)


@benchmark("cycle: 300 jobs reclaim among 24,000 that run", goal_cpu_ms=4_000)
def reclaim_three_hundred() -> Work:
    """On 3,000 nodes."""
    return _reclaim(nodes=3_000)


@benchmark("cycle: 1,000 jobs reclaim among 80,000 that run", goal_cpu_ms=15_000)
def reclaim_thousand() -> Work:
    """On 10,000 nodes: ten times the cluster and the claims in fifteen times the time."""
    return _reclaim(nodes=10_000)


@benchmark(
    "cycle: full, 2,000 jobs over quota wait, nothing happens",
    goal_cpu_ms=300,
    peer="KAI 28.7-38.6 s",
)
def nothing_to_take() -> Work:
    """Every queue is at its quota."""
    state = _state(nodes=1_000)
    for at in range(100):
        _queue(state, f"q{at:02}", None, quota=80_000)
    for at in range(8_000):
        _job(state, f"r{at:05}", f"q{at % 100:02}", at, node=f"n{at % 1_000:04}")
    for at in range(2_000):
        _job(state, f"p{at:05}", f"q{at % 100:02}", 8_000 + at)
    return _cycle(state, ACTIONS, {"Wait": 2_000})


@benchmark("reclaim: one gang takes 10 of 100 nodes", goal_cpu_ms=100, peer="KAI 0.5 s")
def large_gang_100() -> Work:
    """KAI's own-reclaim-large."""
    return _large_gang(100)


@benchmark("reclaim: one gang takes 20 of 200 nodes", goal_cpu_ms=400, peer="KAI 2.4 s")
def large_gang_200() -> Work:
    """KAI's own-reclaim-large."""
    return _large_gang(200)


@benchmark("reclaim: one gang takes 50 of 500 nodes", goal_cpu_ms=3_000, peer="KAI 33 s")
def large_gang_500() -> Work:
    """KAI's own-reclaim-large."""
    return _large_gang(500)


@benchmark("reclaim: one gang takes 100 of 1,000 nodes", goal_cpu_ms=12_000, peer="KAI 211 s")
def large_gang_1000() -> Work:
    """KAI's own-reclaim-large."""
    return _large_gang(1_000)


@benchmark("cycle: 100 nodes, 250 jobs run, 250 wait", goal_cpu_ms=60, peer="KAI 0.29-0.33 s")
def mixed() -> Work:
    """KAI's own-mixed: two departments, two queues each; there is room for all."""
    state = _state(nodes=100)
    for name in ("dept-a", "dept-b"):
        _queue(state, name, None, quota=50 * GPUS, weight=50 * GPUS)
    for at in range(4):
        _queue(state, f"queue-{at}", "dept-a" if at < 2 else "dept-b", quota=25 * GPUS)
    for at in range(500):
        node = f"n{at % 100:04}" if at % 2 == 0 else None
        _job(state, f"j{at:03}", f"queue-{at % 4}", at, node=node)
    return _cycle(state, ACTIONS, {"Start": 250})


def _reclaim(nodes: int) -> Work:
    """Fifty queues hold twice their quota; the fifty others want a few GPUs each."""
    state, running, claims = _state(nodes=nodes), nodes * 8, nodes // 10
    for at in range(100):
        _queue(state, f"q{at:02}", None, quota=running * 10)
    for at in range(running):
        _job(state, f"r{at:05}", f"q{at % 50:02}", at, node=f"n{at % nodes:04}")
    for at in range(claims):
        _job(state, f"p{at:05}", f"q{50 + at % 50:02}", running + at)
    return _cycle(state, ACTIONS, {"Evict": claims, "Reserve": claims})


def _large_gang(nodes: int) -> Work:
    state = _state(nodes=nodes)
    _queue(state, "department", None, quota=None, weight=0)
    _queue(state, "queue-0", "department", quota=0, weight=0)
    _queue(state, "queue-1", "department", quota=nodes * GPUS, weight=0)
    for at in range(nodes * 8):
        _job(state, f"r{at:05}", "queue-0", at, node=f"n{at % nodes:04}")
    _job(state, "gang", "queue-1", 10**6, pods=nodes // 10, gpu=GPUS)
    evicted = nodes // 10 * 8
    return _cycle(state, ("reclaim",), {"Evict": evicted, "Reserve": 1})


def _cycle(state: ClusterState, actions: tuple[str, ...], outcome: dict[str, int]) -> Work:
    settings = KaiSettings(actions=actions)

    def work() -> list[Decision]:
        with state.trial(), paused_collector():  # as `KaiPolicy.plan` does
            decisions = new_cycle(state, settings, HOUR_MS).decisions()
        assert Counter(type(each).__name__ for each in decisions) == outcome
        return decisions

    return work


def _state(*, nodes: int) -> ClusterState:
    axes = QuotaAxes(
        [Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"}
    )
    state = ClusterState(RESOURCES, axes)
    for number in range(nodes):
        size = (64_000, 256 * 10**9, GPUS)
        state.apply(NodeAdded(Node(name=f"n{number:04}", allocatable=size)))
    return state


def _queue(
    state: ClusterState, name: str, parent: str | None, *, quota: int | None, weight: int = 1
) -> None:
    state.apply(
        QueueChanged(
            Queue(
                name=QueueName(name),
                parent=QueueName(parent) if parent else None,
                created_ms=len(state.queues),
                weights=(Decimal(1), Decimal(1), Decimal(weight)),
                guaranteed=(None, None, quota),
                ceiling=NO_LIMITS,
                borrow_limit=NO_LIMITS,
                lend_limit=NO_LIMITS,
            )
        )
    )


def _job(
    state: ClusterState,
    name: str,
    queue: str,
    created_ms: int,
    *,
    pods: int = 1,
    gpu: int = 1_000,
    node: str | None = None,
) -> None:
    asked = PodSet(name=name, count=pods, min_count=pods, requests=(1_000, 4 * 10**9, gpu))
    state.apply(
        WorkloadAdded(
            Workload(
                name=WorkloadName(name),
                queue=QueueName(queue),
                pod_sets=PodSets((asked,)),
                min_count=pods,
                priority=50,
                created_ms=created_ms,
                extension=KaiJob(),
            )
        )
    )
    if node is not None:
        place = (Placement(numbered_pod(name, 0), node),)
        state.apply(WorkloadStarted(workload=WorkloadName(name), placements=place, at_ms=0))
