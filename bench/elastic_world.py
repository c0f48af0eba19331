"""The world in which the capacity-scheduling plugin's cost was measured.

1,000 nodes of 8 GPUs; 100 namespaces with a min of 80 GPUs and no max; 8,000 pods of one GPU in the
first 50 namespaces: pod i on node i mod 1,000, in namespace i mod 50, of priority i mod 5, started
at second i. So half of the namespaces hold twice their min, and the cluster is full.
"""

from collections.abc import Sequence
from decimal import Decimal

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.node import Node
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodSet, PodSets, Workload

GPU = 1000  # in thousandths
NODES = 1_000
NAMESPACES = 100
PODS = 8_000
NOW_MS = 10_000_000
AXES = QuotaAxes([Axis("nvidia.com/gpu")])
RESOURCES = ("nvidia.com/gpu", "pods")


def full_cluster(mins: Sequence[int] = (80,) * NAMESPACES) -> ClusterState:
    """Return the world, the namespaces with *mins* GPUs each."""
    state = ClusterState(RESOURCES, AXES)
    for at, least in enumerate(mins):
        state.apply(QueueChanged(_quota(at, least)))
    for at in range(NODES):
        node = Node(name=f"n{at:03}", allocatable=(8 * GPU, 110))
        state.apply(NodeAdded(node))
    for at in range(PODS):
        workload = waiting(f"p{at:04}", at % 50, priority=at % 5)
        state.apply(WorkloadAdded(workload))
        state.apply(
            WorkloadStarted(
                workload=workload.name,
                placements=(Placement(workload.pods()[0], f"n{at % NODES:03}"),),
                at_ms=at * 1000,
            )
        )
    return state


def waiting(
    name: str, namespace: int, *, priority: int = 0, gpus: int = 1, pods: int = 1
) -> Workload:
    """Return a pod, or a gang of *pods*, that wants so many GPUs for each."""
    owner = f"ns{namespace:02}"
    asked = PodSet(name=name, count=pods, min_count=pods, requests=(gpus * GPU, 1))
    return Workload(
        name=WorkloadName(f"{owner}/{name}"),
        namespace=owner,
        queue=QueueName(owner),
        pod_sets=PodSets((asked,)),
        min_count=pods,
        priority=priority,
        created_ms=NOW_MS,
        extension=ElasticPods(),
    )


def _quota(at: int, least: int) -> Queue:
    name = f"ns{at:02}"
    return Queue(
        name=QueueName(name),
        weights=(Decimal(1),),
        guaranteed=(least * GPU,),
        ceiling=(None,),
        borrow_limit=(None,),
        lend_limit=(None,),
        extension=ElasticQuota(object_name=name),
    )
