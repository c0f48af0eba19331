"""One fact about one pod, and the plan after it, in clusters of 10,000 workloads.

What a live scheduler does most: a pod is seen to start or to end, the state is brought in line with
it, and a plan is made.
"""

from collections.abc import Callable
from decimal import Decimal

from bench.harness import Work, benchmark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import NodeAdded, QueueChanged
from fairlead.model.node import Node
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.reconcile import ObservedPlace, ObservedWorkload, bring_in_line
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    KaiJob,
    PodId,
    PodSet,
    PodSets,
    Workload,
    WorkloadExtension,
)
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.make_policy import Policy

RESOURCES = ("cpu", "memory", "pods")
AXES = QuotaAxes([Axis("cpu"), Axis("memory"), Axis("gpu")])
WORKLOADS = 10_000
QUEUES = 100
NODES = 1_000
POD = (1_000, 2**30, 1)
NOW_MS = 1_000_000


def _queue(number: int, *, elastic: bool) -> Queue:
    return Queue(
        name=QueueName(f"q{number:03}"),
        weights=(Decimal(1),) * 3,
        guaranteed=(200_000, 2**38, 0),
        ceiling=(None,) * 3,
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
        extension=ElasticQuota(object_name="q", max_listed=None) if elastic else None,
    )


def _observed(number: int, extension: WorkloadExtension, *, runs: bool) -> ObservedWorkload:
    queue, pod = QueueName(f"q{number % QUEUES:03}"), PodId(f"uid-{number:05}")
    name = f"p{number:05}"
    asked = PodSet(name=name, count=1, min_count=1, requests=POD, pod_ids=(pod,), pod_names=(name,))
    workload = Workload(
        name=WorkloadName(f"{queue}/{name}"),
        namespace=queue,
        queue=queue,
        pod_sets=PodSets((asked,)),
        min_count=1,
        priority=50,
        created_ms=number,
        extension=extension,
    )
    place = ObservedPlace(f"n{number % NODES:04}", number)
    return ObservedWorkload(workload=workload, places={pod: place} if runs else {})


def _cluster(extension: WorkloadExtension) -> ClusterState:
    """Nodes of 16 CPUs, of which ten are in use; nothing waits."""
    state = ClusterState(RESOURCES, AXES)
    for number in range(NODES):
        node = Node(name=f"n{number:04}", allocatable=(16_000, 2**36, 110))
        state.apply(NodeAdded(node))
    for number in range(QUEUES):
        elastic = isinstance(extension, ElasticPods)
        state.apply(QueueChanged(_queue(number, elastic=elastic)))
    for number in range(WORKLOADS):
        observed = _observed(number, extension, runs=True)
        bring_in_line(state, observed.workload.name, observed)
    return state


def _pod_comes_and_goes(
    state: ClusterState, extension: WorkloadExtension, after: Callable[[], object]
) -> Work:
    waits = _observed(WORKLOADS, extension, runs=False)
    name = waits.workload.name

    def work() -> None:
        bring_in_line(state, name, waits)
        after()
        bring_in_line(state, name, None)
        after()

    return work


@benchmark("a pod seen among 10,000 workloads: state", goal_cpu_ms=0.05, operations=2)
def one_pod() -> Work:
    """Compared with what is known, and taken in."""
    return _pod_comes_and_goes(_cluster(KaiJob()), KaiJob(), lambda: None)


def _planned(policy: Policy, extension: WorkloadExtension) -> Work:
    state = _cluster(extension)
    policy.changes(state, NOW_MS)
    return _pod_comes_and_goes(state, extension, lambda: policy.changes(state, NOW_MS))


@benchmark("a pod seen among 10,000 workloads: plan, kai", goal_cpu_ms=5.0, operations=2)
def kai_plan() -> Work:
    """One cycle after the pod came, and one after it is gone."""
    return _planned(KaiPolicy(KaiSettings()), KaiJob())


@benchmark("a pod seen among 10,000 workloads: plan, elastic-quota", goal_cpu_ms=5.0, operations=2)
def elastic_plan() -> Work:
    """One cycle after the pod came, and one after it is gone."""
    return _planned(ElasticQuotaPolicy(ElasticQuotaSettings()), ElasticPods())
