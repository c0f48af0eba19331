"""Clusters under Kueue's rules, read from text tables, and what plans make of them.

Everything is on one flavor (``any``) of one resource (``gpu``) unless said otherwise, and amounts
are whole numbers, so that tests show their arithmetic.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

from msgspec.structs import replace

from fairlead.model.after_plan import carry_out
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, LocalQueue
from fairlead.model.events import (
    CatalogueChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadStarted,
)
from fairlead.model.invariants import check_invariants
from fairlead.model.plan import Evict, Plan, Reserve, Start, Wait
from fairlead.model.queue import (
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    Queue,
    QueuePreemption,
    ResourceGroup,
    cohort_queue,
)
from fairlead.model.selector import LabelSelector
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodId, PodSet, Workload
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.text_table import rows

FAIR = KueueSettings(fair_sharing=True)
CLASSICAL = KueueSettings()
NAMESPACE = "team"
NOW_MS = 10_000
_AXES = QuotaAxes([Axis("gpu", "any")])
_GROUPS = (ResourceGroup(resources=("gpu",), flavors=("any",)),)


def cluster(queues: str, workloads: str = "") -> ClusterState:
    """Return the cluster of two tables.

    A queue whose name is in capitals is a cohort. Columns of queues, all but the first two
    optional: ``name parent quota borrow lend weight within reclaim borrowWithin strategy stop``;
    ``-`` is none. Workloads: ``name queue asks priority created running``; ``asks`` is like ``2``,
    ``3x2`` (three pods of 2) or ``1-3x2`` (at least one of them); ``running`` is since when.
    """
    state = ClusterState(("gpu",), _AXES)
    found = rows(queues)
    doors = [
        LocalQueue(namespace=NAMESPACE, name=row["name"], cluster_queue=QueueName(row["name"]))
        for row in found
        if not row["name"].isupper()
    ]
    state.apply(
        CatalogueChanged(
            Catalogue(local_queues={f"{NAMESPACE}/{door.name}": door for door in doors})
        )
    )
    for row in found:
        state.apply(QueueChanged(_queue(row)))
    for row in rows(workloads) if workloads.strip() else []:
        add(state, row)
    return state


def add(state: ClusterState, row: dict[str, str]) -> None:
    """Let one more workload wait or, with ``running``, have quota since then."""
    workload = _workload(row)
    state.apply(WorkloadAdded(workload))
    since = row.get("running", "-")
    if since != "-":
        places = tuple(Placement(pod, None) for pod in workload.pods())
        state.apply(
            WorkloadStarted(
                workload=workload.name,
                placements=places,
                flavors=({"gpu": "any"},) * len(workload.pod_sets),
                at_ms=int(since),
            )
        )


def finish(state: ClusterState, name: str) -> None:
    """Let a workload be done."""
    state.apply(WorkloadFinished(WorkloadName(name)))


def plan(state: ClusterState, settings: KueueSettings = CLASSICAL, now_ms: int = NOW_MS) -> Plan:
    """Return the plan, having checked that it is the same twice and leaves the state alone."""
    policy = KueuePolicy(settings)
    planned = policy.plan(state, now_ms)
    check_invariants(state)
    assert KueuePolicy(settings).plan(state, now_ms) == planned
    return planned


def told(planned: Plan) -> list[str]:
    """Return the decisions in a few words: ``start a``, ``evict b for a: InClusterQueue``."""
    return list(map(_told, planned.decisions))


def cycles(
    state: ClusterState, settings: KueueSettings, most: int = 50, now_ms: int = NOW_MS
) -> Iterator[list[str]]:
    """Yield what each plan says, carried out one after the other, until one changes nothing."""
    for number in range(most):
        planned = plan(state, settings, now_ms + number)
        yield told(planned)
        carry_out(state, planned.decisions, now_ms + number, keeps_reservations=False)
        check_invariants(state)
        if all(isinstance(each, Wait) for each in planned.decisions):
            return
    raise AssertionError(f"no rest after {most} plans")


def held(state: ClusterState) -> dict[str, int]:
    """Return what each ClusterQueue uses."""
    return {
        str(name): state.sums[name].allocated[0]
        for name, queue in state.queues.items()
        if isinstance(queue.extension, ClusterQueue)
    }


def _told(decision: object) -> str:
    match decision:
        case Start():
            return f"start {decision.workload}"
        case Evict(beneficiary=None):
            return f"evict {decision.workload}: {decision.reason.code}"
        case Evict():
            return f"evict {decision.workload} for {decision.beneficiary}: {decision.reason.code}"
        case Reserve():
            return f"reserve {decision.workload} until {' '.join(decision.waits_for)} left"
        case Wait():
            return f"wait {decision.workload}: {decision.reason.code}"
        case _:
            raise AssertionError(decision)


def _queue(row: dict[str, str]) -> Queue:
    is_cohort = row["name"].isupper()
    parent = row.get("parent", "-")

    def amount(column: str) -> int | None:
        text = row.get(column, "-")
        return None if text == "-" else int(text)

    return Queue(
        name=cohort_queue(row["name"]) if is_cohort else QueueName(row["name"]),
        parent=None if parent == "-" else cohort_queue(parent),
        weights=(Decimal(row.get("weight", "1").replace("-", "1")),),
        guaranteed=(amount("quota") or 0,),
        ceiling=(None,),
        borrow_limit=(amount("borrow"),),
        lend_limit=(amount("lend"),),
        extension=Cohort(resource_groups=_GROUPS) if is_cohort else _rules(row),
    )


def _rules(row: dict[str, str]) -> ClusterQueue:
    """Return the rules of a ClusterQueue, Kueue's defaults where the table has none."""

    def choice(column: str, default: str) -> Any:
        text = row.get(column, "-")
        return default if text == "-" else text

    policy, _, threshold = choice("borrowWithin", "Never").partition("<=")
    return ClusterQueue(
        resource_groups=_GROUPS,
        namespace_selector=LabelSelector(),
        queueing_strategy=choice("strategy", "BestEffortFIFO"),
        stop_policy=choice("stop", "None"),
        preemption=QueuePreemption(
            within_cluster_queue=choice("within", "Never"),
            reclaim_within_cohort=choice("reclaim", "Never"),
            borrow_within_cohort=BorrowWithinCohort(
                policy=cast(Any, policy),
                max_priority_threshold=int(threshold) if threshold else None,
            ),
        ),
    )


def _workload(row: dict[str, str]) -> Workload:
    counts, _, size = row["asks"].rpartition("x")
    fewest, _, most = counts.rpartition("-")
    count = int(most or "1")
    least = int(fewest or count)
    pods = PodSet(name="main", count=count, min_count=least, requests=(int(size),))
    return Workload(
        name=WorkloadName(row["name"]),
        namespace=NAMESPACE,
        queue=QueueName(row["queue"]),
        pod_sets=(pods,),
        min_count=least,
        priority=int(row.get("priority", "0").replace("_", "0")),
        created_ms=int(row.get("created", "0")),
        extension=KueueWorkload(local_queue=row["queue"]),
    )


def with_rules(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a ClusterQueue's own rules."""
    queue = state.queues[QueueName(name)]
    assert isinstance(queue.extension, ClusterQueue)
    state.apply(QueueChanged(replace(queue, extension=replace(queue.extension, **changes))))


def first_pods(count: int) -> tuple[PodId, ...]:
    """Return so many pods of the first set."""
    return tuple(PodId(0, ordinal) for ordinal in range(count))
