"""Small clusters for tests of the state: two resources, two axes, a tree by name."""

from decimal import Decimal

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import NodeAdded, Placement, QueueChanged, WorkloadAdded, WorkloadStarted
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod

RESOURCES = ("cpu", "nvidia.com/gpu")
AXES = QuotaAxes([Axis("cpu"), Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"})


def queue(name: str, parent: str | None = None, *, axes: int = len(AXES)) -> Queue:
    return Queue(
        name=QueueName(name),
        parent=QueueName(parent) if parent else None,
        weights=(Decimal(1),) * axes,
        guaranteed=(0,) * axes,
        ceiling=(None,) * axes,
        borrow_limit=(None,) * axes,
        lend_limit=(None,) * axes,
    )


def workload(
    name: str, queue: str, *, pods: int = 1, cpu: int = 1000, gpu: int = 1000, **facts: bool
) -> Workload:
    pod_set = PodSet(name="main", count=pods, min_count=pods, requests=(cpu, gpu))
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((pod_set,)),
        min_count=pods,
        preemptible=facts.get("preemptible", True),
        active=facts.get("active", True),
    )


def node(name: str, *, cpu: int = 8000, gpu: int = 8000, ready: bool = True) -> Node:
    return Node(name=name, allocatable=(cpu, gpu), ready=ready)


def started(name: str, node: str | None, pods: int = 1) -> WorkloadStarted:
    places = tuple(Placement(numbered_pod("main", ordinal), node) for ordinal in range(pods))
    return WorkloadStarted(workload=WorkloadName(name), placements=places, at_ms=0)


def state_with(*parts: Queue | Node | Workload) -> ClusterState:
    state = ClusterState(RESOURCES, AXES)
    for part in parts:
        match part:
            case Queue():
                state.apply(QueueChanged(part))
            case Node():
                state.apply(NodeAdded(part))
            case Workload():
                state.apply(WorkloadAdded(part))
    return state
