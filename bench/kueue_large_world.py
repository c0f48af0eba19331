"""A large cluster under Kueue's rules, in the six configurations that administrators use most.

One tree: a root cohort, 9 cohorts below it, 100 below those, 11 ClusterQueues in each of the 100.
Every ClusterQueue has a nominal quota of 9 GPUs and each lowest cohort has 1 of its own, 10,000 in
all. All are in use: 900 queues hold 8 each and lend 1, 200 queues hold 14 each and borrow 5. 500
workloads are pending, 3 of 5 in queues that lend.

Plans are carried out until one changes nothing, as on a live cluster: after 4 or 5 of them, with
two flavors after 70. What is still pending then cannot start for now; to find that out for each
workload, with the reason, is the expensive part of a plan.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from random import Random
from typing import Final

import msgspec

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, LocalQueue, ResourceFlavor
from fairlead.model.events import (
    CatalogueChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Evict
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
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings

COHORTS: Final = (1, 9, 100)  # by level, the root first
QUEUES_PER_COHORT: Final = 11
PENDING: Final = 500
CPU_PER_GPU: Final = 4_000  # millicores
NOW_MS: Final = 1_000_000_000
_MOST_PLANS: Final = 200  # until it is at rest
_NAMESPACE: Final = "bench"
_RESOURCES: Final = ("cpu", "nvidia.com/gpu")
_PREEMPTING: Final = QueuePreemption(
    within_cluster_queue="LowerPriority", reclaim_within_cohort="Any"
)


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the six worlds."""

    settings: KueueSettings = KueueSettings(fair_sharing=True)
    preemption: QueuePreemption = _PREEMPTING
    flavors: tuple[str, ...] = ("a100",)
    strict: bool = False
    lend_limit: int | None = None  # GPUs that a queue lends at most


CONFIGURATIONS: Final[Mapping[str, Configuration]] = {
    "Kueue's defaults": Configuration(settings=KueueSettings(), preemption=QueuePreemption()),
    "fair sharing": Configuration(),
    "fair sharing, one strategy": Configuration(
        settings=KueueSettings(fair_sharing=True, strategies=("LessThanInitialShare",))
    ),
    "fair sharing, two flavors": Configuration(flavors=("a100", "h100")),
    "fair sharing, StrictFIFO": Configuration(strict=True),
    "fair sharing, lending limits": Configuration(lend_limit=4),
}


@lru_cache(maxsize=1)  # both benchmarks of a configuration leave the state as it was
def large_world(configuration: Configuration) -> ClusterState:
    """Return the state when nothing happens any more: the same one for the same configuration."""
    state = first_state(configuration)
    policy = KueuePolicy(configuration.settings)
    for _ in range(_MOST_PLANS):
        plan = policy.plan(state, NOW_MS, explain=False)
        if not plan.decisions:
            return state
        apply(state, plan)
        for each in plan.decisions:
            if isinstance(each, Evict):
                state.apply(WorkloadStopped(workload=each.workload, pods=each.pods))
    raise AssertionError(f"it does not come to rest in {_MOST_PLANS} plans")


def first_state(configuration: Configuration) -> ClusterState:
    """Return the state before the first plan."""
    axes = QuotaAxes([Axis(name, each) for each in configuration.flavors for name in _RESOURCES])
    state = ClusterState(_RESOURCES, axes)
    leaves = _cohorts(state, configuration)
    queues = [QueueName(f"q{number:04}") for number in range(len(leaves) * QUEUES_PER_COHORT)]
    state.apply(CatalogueChanged(_catalogue(queues, configuration.flavors)))
    for number, name in enumerate(queues):
        rules = ClusterQueue(
            resource_groups=_groups(configuration),
            namespace_selector=LabelSelector(),
            preemption=configuration.preemption,
            queueing_strategy="StrictFIFO" if configuration.strict else "BestEffortFIFO",
        )
        parent = leaves[number // QUEUES_PER_COHORT]
        lent = configuration.lend_limit
        state.apply(QueueChanged(_queue(state, number, name, parent, 9, rules, lent)))
    _admit(state, queues, configuration.flavors)
    random = Random(26)
    for number in range(PENDING):
        is_lender = number % 5 < 3
        queue = queues[_numbers(is_lender=is_lender)[random.randrange(900 if is_lender else 200)]]
        state.apply(WorkloadAdded(pending_workload(f"pending-{number:03}", queue, random)))
    return state


def pending_workload(name: str, queue: QueueName, random: Random) -> Workload:
    """Return a workload of 1 to 16 GPUs that waits in *queue*."""
    gpus, priority = random.choice((1, 2, 4, 8, 16)), random.choice((0, 0, 10, 100))
    created_ms = NOW_MS - random.randint(1, 3_600_000)
    return _workload(name, queue, gpus, priority=priority, created_ms=created_ms)


def _numbers(*, is_lender: bool) -> list[int]:
    """Return which of the 1,100 queues hold less than their quota, or more."""
    return [number for number in range(1_100) if (number % 11 not in (3, 7)) == is_lender]


def _admit(state: ClusterState, queues: Sequence[QueueName], flavors: Sequence[str]) -> None:
    for number, queue in enumerate(queues):
        held = 8 if number % 11 not in (3, 7) else 14
        for place in range(held):
            name = f"{queue}-{place:02}"
            priority = (0, 10, 50)[(number + place) % 3]
            started_ms = NOW_MS - 3_600_000 - (number * 37 + place * 101) % 1_000 * 1_000
            workload = _workload(name, queue, 1, priority=priority, created_ms=started_ms - 60_000)
            state.apply(WorkloadAdded(workload))
            flavor = flavors[place % len(flavors)]
            state.apply(
                WorkloadStarted(
                    workload=workload.name,
                    placements=(Placement(numbered_pod("main", 0), None),),
                    flavors=(dict.fromkeys(_RESOURCES, flavor),),
                    at_ms=started_ms,
                )
            )


def _cohorts(state: ClusterState, configuration: Configuration) -> list[QueueName]:
    """Add the three levels, and return the cohorts of the lowest one."""
    levels = [[f"c{level}-{at:03}" for at in range(count)] for level, count in enumerate(COHORTS)]
    for level, names in enumerate(levels):
        for at, name in enumerate(names):
            above = levels[level - 1] if level else []
            parent = cohort_queue(above[at % len(above)]) if above else None
            gpus = 1 if level == len(levels) - 1 else 0
            rules = Cohort(resource_groups=_groups(configuration))
            queue = _queue(state, at, cohort_queue(name), parent, gpus, rules, None)
            state.apply(QueueChanged(queue))
    return [cohort_queue(name) for name in levels[-1]]


def _queue(
    state: ClusterState,
    number: int,
    name: QueueName,
    parent: QueueName | None,
    gpus: int,
    rules: ClusterQueue | Cohort,
    lend_limit: int | None,
) -> Queue:
    axes = state.axes
    flavors = len(axes) // len(_RESOURCES)
    # The odd GPU goes to each flavor in turn, so that no flavor has more than is in use.
    by_flavor = [
        gpus // flavors + ((at + number) % flavors < gpus % flavors) for at in range(flavors)
    ]
    guaranteed = tuple(amount for each in by_flavor for amount in (each * CPU_PER_GPU, each * 1000))
    unlimited = (None,) * len(axes)
    lent = None if lend_limit is None else (lend_limit * CPU_PER_GPU, lend_limit * 1000) * flavors
    return Queue(
        name=name,
        parent=parent,
        weights=(Decimal(1),) * len(axes),
        guaranteed=guaranteed,
        ceiling=unlimited,
        borrow_limit=unlimited,
        lend_limit=unlimited if lent is None else lent,
        extension=rules,
    )


def _groups(configuration: Configuration) -> tuple[ResourceGroup, ...]:
    return (ResourceGroup(resources=_RESOURCES, flavors=configuration.flavors),)


def _catalogue(queues: Sequence[QueueName], flavors: Sequence[str]) -> Catalogue:
    local_queues = {
        f"{_NAMESPACE}/{name}": LocalQueue(namespace=_NAMESPACE, name=name, cluster_queue=name)
        for name in queues
    }
    return Catalogue(
        local_queues=local_queues, flavors={name: ResourceFlavor(name=name) for name in flavors}
    )


def _workload(
    name: str, queue: QueueName, gpus: int, *, priority: int, created_ms: int
) -> Workload:
    requests = (gpus * CPU_PER_GPU, gpus * 1000)
    return Workload(
        name=WorkloadName(name),
        namespace=_NAMESPACE,
        queue=queue,
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=requests),)),
        min_count=1,
        priority=priority,
        created_ms=created_ms,
        extension=KueueWorkload(local_queue=queue),
    )
