"""A cluster with GPUs alone, and work for it, in a few words."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.events import NodeAdded, QueueChanged
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.sim.engine.job import Job
from fairlead.sim.work.source import WorkSource

GPU = "nvidia.com/gpu"
RESOURCES = ("cpu", "memory", GPU)
AXES = QuotaAxes([Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={GPU: "gpu"})
DEVICE = 1000
SECOND = 1000


def node(name: str, gpus: int) -> Node:
    """A node with so many GPUs and more of the rest than anybody wants."""
    size = (10**9, 10**18, gpus * DEVICE)
    return Node(name=name, allocatable=size)


def queue(name: str, *, parent: str | None = None, weight: str = "1", gpus: int = 0) -> Queue:
    """A queue to which *gpus* are guaranteed; nothing bounds it."""
    return Queue(
        name=QueueName(name),
        parent=None if parent is None else QueueName(parent),
        weights=(Decimal(1), Decimal(1), Decimal(weight)),
        guaranteed=(None, None, gpus * DEVICE),
        ceiling=(None,) * 3,
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
    )


def cluster(queues: Iterable[Queue], nodes: Mapping[str, int]) -> ClusterState:
    """The state of a cluster in which nothing runs yet."""
    state = ClusterState(RESOURCES, AXES)
    for each in queues:
        state.apply(QueueChanged(each))
    for name, gpus in nodes.items():
        state.apply(NodeAdded(node(name, gpus)))
    return state


def job(name: str, queue: str, *, gpus: int, at: int = 0, run: int | None = None) -> Job:
    """One pod that comes *at* some second and runs for so many."""
    return Job(
        name=name,
        queue=queue,
        submit_ms=at * SECOND,
        run_ms=None if run is None else run * SECOND,
        requests={GPU: gpus * DEVICE},
    )


class FixedWork(WorkSource):
    """Jobs that come whatever happens."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__("fixed", lambda: iter(sorted(jobs, key=lambda each: each.submit_ms)))
