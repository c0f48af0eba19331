"""A large full cluster under Kueue's rules, in six configurations.

1,100 ClusterQueues below 110 cohorts in three levels, and 10,500 workloads, of which 500 wait. All
quota is in use: some queues borrow up to twice their quota, others use little of theirs. The world
is made by arithmetic alone, so it is the same on every machine.
"""

from decimal import Decimal
from typing import Final

import msgspec

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, LocalQueue
from fairlead.model.events import (
    CatalogueChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.queue import (
    ClusterQueue,
    Cohort,
    Queue,
    QueuePreemption,
    ResourceGroup,
    cohort_queue,
)
from fairlead.model.selector import LabelSelector
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kueue.settings import KueueSettings

GPU: Final = "nvidia.com/gpu"
RECLAIM: Final = QueuePreemption(within_cluster_queue="LowerPriority", reclaim_within_cohort="Any")
FAIR: Final = KueueSettings(fair_sharing=True)
QUEUES: Final = 1_100
GROUPS: Final = 100  # cohorts of the lowest level
SECTIONS: Final = 9  # cohorts between them and the root
ADMITTED: Final = 10_000
PENDING: Final = 500
QUOTA: Final = 9  # of each ClusterQueue; each group has one more to share


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """How an administrator set up the cluster."""

    settings: KueueSettings = FAIR
    preemption: QueuePreemption = RECLAIM
    flavors: tuple[str, ...] = ("default",)
    is_strict: bool = False
    lend_limit: int | None = None


CONFIGURATIONS: Final = {
    "Kueue's defaults": Configuration(settings=KueueSettings(), preemption=QueuePreemption()),
    "fair sharing": Configuration(),
    "one strategy": Configuration(
        settings=KueueSettings(fair_sharing=True, strategies=("LessThanInitialShare",))
    ),
    "two flavors": Configuration(flavors=("default", "spot")),
    "StrictFIFO": Configuration(is_strict=True),
    "lending limits": Configuration(lend_limit=4),
}


def large_state(configuration: Configuration) -> ClusterState:
    """Return the cluster with all its workloads."""
    axes = QuotaAxes([Axis(GPU, flavor) for flavor in configuration.flavors])
    state = ClusterState((GPU,), axes)
    names = [f"q{number:04}" for number in range(QUEUES)]
    local_queues = {
        f"bench/{name}": LocalQueue(namespace="bench", name=name, cluster_queue=QueueName(name))
        for name in names
    }
    state.apply(CatalogueChanged(Catalogue(local_queues=local_queues)))
    for queue in _queues(configuration, axes):
        state.apply(QueueChanged(queue))
    for number in range(ADMITTED):
        workload = pending_workload(f"a{number:05}", _home_of(number), number)
        state.apply(WorkloadAdded(workload))
        state.apply(
            WorkloadStarted(
                workload=workload.name,
                placements=(Placement(numbered_pod("main", 0), None),),
                flavors=({GPU: configuration.flavors[number % len(configuration.flavors)]},),
                at_ms=number * 1000,
            )
        )
    for number in range(PENDING):
        name = names[number * 7 % QUEUES]
        state.apply(WorkloadAdded(pending_workload(f"p{number:03}", name, ADMITTED + number)))
    return state


def pending_workload(name: str, queue: str, number: int) -> Workload:
    """Return a workload of one pod that waits: 1 GPU if it is among the admitted, else 1 to 4."""
    size = 1 if number < ADMITTED else 1 + number % 4
    return Workload(
        name=WorkloadName(name),
        namespace="bench",
        queue=QueueName(queue),
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=(size,)),)),
        min_count=1,
        priority=number % 3,
        created_ms=number * 1000,
        extension=KueueWorkload(local_queue=queue),
    )


def _home_of(number: int) -> str:
    """Return the queue of an admitted workload; of 19 queues the last has most, the first none."""
    block, place = divmod(number, 171)  # 0 + 1 + ... + 18 workloads in 19 queues
    queue = 0
    while place >= queue:
        place -= queue
        queue += 1
    return f"q{(block * 19 + queue) % QUEUES:04}"


def _queues(configuration: Configuration, axes: QuotaAxes) -> list[Queue]:
    """Return all cohorts and ClusterQueues, parents first."""
    groups = (ResourceGroup(resources=(GPU,), flavors=configuration.flavors),)
    cohort = Cohort(resource_groups=groups)
    cluster_queue = ClusterQueue(
        resource_groups=groups,
        namespace_selector=LabelSelector(),
        preemption=configuration.preemption,
        queueing_strategy="StrictFIFO" if configuration.is_strict else "BestEffortFIFO",
    )
    lend = (configuration.lend_limit,) * len(axes)
    share = [QUOTA // len(axes) + (at < QUOTA % len(axes)) for at in range(len(axes))]
    found = [_queue("cohort/all", None, [0] * len(axes), axes.unlimited, cohort)]
    for number in range(SECTIONS):
        name = cohort_queue(f"s{number}")
        found.append(_queue(name, "cohort/all", [0] * len(axes), axes.unlimited, cohort))
    for number in range(GROUPS):
        name, own = cohort_queue(f"g{number:02}"), [1, *[0] * (len(axes) - 1)]
        parent = cohort_queue(f"s{number % SECTIONS}")
        found.append(_queue(name, parent, own, axes.unlimited, cohort))
    for number in range(QUEUES):
        parent = cohort_queue(f"g{number % GROUPS:02}")
        found.append(_queue(f"q{number:04}", parent, share, lend, cluster_queue))
    return found


def _queue(
    name: str,
    parent: str | None,
    quota: list[int],
    lend_limit: tuple[int | None, ...],
    extension: ClusterQueue | Cohort,
) -> Queue:
    unlimited = (None,) * len(quota)
    return Queue(
        name=QueueName(name),
        parent=None if parent is None else QueueName(parent),
        weights=(Decimal(1),) * len(quota),
        guaranteed=tuple(quota),
        ceiling=unlimited,
        borrow_limit=unlimited,
        lend_limit=lend_limit,
        extension=extension,
    )
