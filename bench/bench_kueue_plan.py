"""Plans under Kueue's rules in its bench world: from a state to decisions with their reasons."""

from collections import Counter
from decimal import Decimal
from typing import Any

from bench.harness import Work, benchmark
from bench.kueue_world import AXES, RESOURCES, read_world
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
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings

FAIR = KueueSettings(fair_sharing=True)
_QUOTA_AXES = QuotaAxes([Axis(resource, flavor) for flavor, resource in AXES])
_GROUPS = (ResourceGroup(resources=RESOURCES, flavors=("default",)),)


@benchmark("kueue: plan, 1,000 heads, all full", goal_cpu_ms=2_000.0, peer="Kueue 269 s")
def plan_all_full() -> Work:
    """The full cycle as a plan: read from a state, with a reason for every eviction and wait."""
    state = _state(read_world())

    def plan() -> None:
        decided = KueuePolicy(FAIR).plan(state, 0).decisions
        kinds = Counter(type(each).__name__ for each in decided)
        assert kinds == {"Evict": 928, "Reserve": 928, "Wait": 72}

    return plan


@benchmark("kueue: plan when nothing waits")
def plan_quiet() -> Work:
    """10,000 workloads have quota and none is pending."""
    world = read_world()
    state = _state({**world, "heads": []})

    def plan() -> None:
        assert not KueuePolicy(FAIR).plan(state, 0).decisions

    return plan


def _state(world: dict[str, Any]) -> ClusterState:
    state = ClusterState(RESOURCES, _QUOTA_AXES)
    doors = [each["name"] for each in world["clusterQueues"]]
    local_queues = {
        f"bench/{name}": LocalQueue(namespace="bench", name=name, cluster_queue=QueueName(name))
        for name in doors
    }
    state.apply(CatalogueChanged(Catalogue(local_queues=local_queues)))
    for each in world["cohorts"]:
        state.apply(QueueChanged(_queue(each, each.get("parent"), Cohort(resource_groups=_GROUPS))))
    for each in world["clusterQueues"]:
        state.apply(QueueChanged(_queue(each, each["cohort"], _rules(each["preemption"]))))
    for each in world["admitted"]:
        state.apply(WorkloadAdded(_workload(each)))
        state.apply(
            WorkloadStarted(
                workload=WorkloadName(each["name"]),
                placements=(Placement(numbered_pod("main", 0), None),),
                flavors=(dict.fromkeys(each["requests"], each["flavor"]),),
                at_ms=each["admittedAt"] * 1000,
            )
        )
    for each in world["heads"]:
        state.apply(WorkloadAdded(_workload(each)))
    return state


def _queue(found: dict[str, Any], parent: str | None, extension: ClusterQueue | Cohort) -> Queue:
    quotas = {
        (entry["flavor"], resource): quota["nominal"]
        for group in found.get("resourceGroups", ())
        for entry in group
        for resource, quota in entry["resources"].items()
    }
    is_cohort = isinstance(extension, Cohort)
    return Queue(
        name=cohort_queue(found["name"]) if is_cohort else QueueName(found["name"]),
        parent=None if parent is None else cohort_queue(parent),
        weights=(Decimal(found.get("weight", "1")),) * len(AXES),
        guaranteed=tuple(quotas.get(axis, 0) for axis in AXES),
        ceiling=_QUOTA_AXES.unlimited,
        borrow_limit=_QUOTA_AXES.unlimited,
        lend_limit=_QUOTA_AXES.unlimited,
        extension=extension,
    )


def _rules(preemption: dict[str, Any]) -> ClusterQueue:
    return ClusterQueue(
        resource_groups=_GROUPS,
        namespace_selector=LabelSelector(),
        preemption=QueuePreemption(
            within_cluster_queue=preemption["withinClusterQueue"],
            reclaim_within_cohort=preemption["reclaimWithinCohort"],
        ),
    )


def _workload(found: dict[str, Any]) -> Workload:
    requests = tuple(found["requests"].get(resource, 0) for resource in RESOURCES)
    return Workload(
        name=WorkloadName(found["name"]),
        namespace="bench",
        queue=QueueName(found["cq"]),
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=requests),)),
        min_count=1,
        priority=found["priority"],
        created_ms=found["createdAt"] * 1000,
        extension=KueueWorkload(local_queue=found["cq"]),
    )
