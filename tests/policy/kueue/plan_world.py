"""Clusters under Kueue's rules, read from text tables, and what plans make of them.

Everything is on one flavor (``any``) of one resource (``gpu``) unless said otherwise, and amounts
are whole numbers, so that tests show their arithmetic.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, cast

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, LocalQueue
from fairlead.model.events import (
    CatalogueChanged,
    MemoryChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadStarted,
)
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.memory import KueueMemory
from fairlead.model.plan import Decision, Evict, LeftPending, Plan, Reserve, Start, Unknown, Wait
from fairlead.model.queue import (
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    Queue,
    QueuePreemption,
    ResourceGroup,
    cohort_queue,
)
from fairlead.model.selector import LabelSelector
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodConstraints, PodSet, PodSets, Workload
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.model.invariants import check_invariants
from tests.text_table import rows

FAIR = KueueSettings(fair_sharing=True)
CLASSICAL = KueueSettings()
FAITHFUL = KueueSettings(fair_sharing=True, faithful=True)  # with fair sharing, as Kueue decides
NAMESPACE = "team"
NOW_MS = 10_000
ONE_AXIS = "gpu:any"


def cluster(queues: str, workloads: str = "", groups: str = ONE_AXIS) -> ClusterState:
    """Return the cluster of two tables.

    A queue whose name is in capitals is a cohort. Columns of queues, all but the first two
    optional: ``name parent quota borrow lend weight within reclaim borrowWithin strategy stop
    whenBorrow whenPreempt preference``; ``-`` is none. Workloads: ``name queue asks priority
    created running on requeued backOff preempted preempting active kind``; ``asks`` is like ``2``,
    ``3x2`` (three pods of 2) or ``1-3x2`` (at least one of them); ``running`` is since when,
    ``preempted`` when it last gave way, ``on`` which flavors (the first ones if not said), ``kind``
    the label of that name that nodes must have.

    *groups* are resource groups like ``cpu,gpu:red,blue tape:any``. Amounts are joined by commas
    then: quota flavor by flavor (red cpu, red gpu, blue cpu, ...), requests resource by resource.
    Pod sets are joined by ``+``, as are their flavors, one for each group: ``red,any+blue,any``.
    """
    found = rows(workloads) if workloads.strip() else []
    return build(rows(queues), found, groups)


def build(
    queues: Sequence[dict[str, str]], workloads: Sequence[dict[str, str]], groups: str = ONE_AXIS
) -> ClusterState:
    """Return the cluster of the rows of two tables, taken in in that order."""
    known = _groups(groups)
    resources = [name for group in known for name in group.resources]
    state = ClusterState(resources, QuotaAxes([axis for group in known for axis in group.axes()]))
    doors = [
        LocalQueue(namespace=NAMESPACE, name=row["name"], cluster_queue=QueueName(row["name"]))
        for row in queues
        if not row["name"].isupper()
    ]
    state.apply(
        CatalogueChanged(
            Catalogue(local_queues={f"{NAMESPACE}/{door.name}": door for door in doors})
        )
    )
    for row in queues:
        state.apply(QueueChanged(_queue(row, known)))
    for row in workloads:
        add(state, row, groups)
    return state


def add(state: ClusterState, row: dict[str, str], groups: str = ONE_AXIS) -> None:
    """Let one more workload wait or, with ``running``, have quota since then."""
    workload = _workload(row)
    state.apply(WorkloadAdded(workload))
    state.apply(MemoryChanged(workload.name, _memory(row)))
    since = row.get("running", "-")
    if since != "-":
        places = tuple(Placement(pod, None) for pod in workload.pods())
        state.apply(
            WorkloadStarted(
                workload=workload.name,
                placements=places,
                flavors=_flavors(row, workload, _groups(groups)),
                at_ms=int(since),
            )
        )


def _groups(text: str) -> tuple[ResourceGroup, ...]:
    pairs = [group.split(":") for group in text.split()]
    return tuple(
        ResourceGroup(resources=tuple(names.split(",")), flavors=tuple(flavors.split(",")))
        for names, flavors in pairs
    )


def _flavors(
    row: dict[str, str], workload: Workload, groups: Sequence[ResourceGroup]
) -> tuple[dict[str, str], ...]:
    """Return what flavors each pod set that has quota is on."""
    text = row.get("on", "-")
    first = ",".join(group.flavors[0] for group in groups)
    by_set = [first] * len(workload.pod_sets) if text == "-" else text.split("+")
    return tuple(
        {
            resource: flavor
            for group, flavor in zip(groups, each.split(","), strict=True)
            for resource in group.resources
        }
        for each in by_set
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
    return list(map(_evicted, planned.decisions))


def cycles(
    state: ClusterState, settings: KueueSettings, most: int = 50, now_ms: int = NOW_MS
) -> Iterator[list[str]]:
    """Yield what each plan says, carried out one after the other, until one changes nothing."""
    for number in range(most):
        planned = plan(state, settings, now_ms + number)
        yield told(planned)
        carry_out(state, planned.decisions, now_ms + number, keeps_reservations=False)
        check_invariants(state)
        if all(isinstance(each, LeftPending) for each in planned.decisions):
            return
    raise AssertionError(f"no rest after {most} plans")


def held(state: ClusterState) -> dict[str, int]:
    """Return what each ClusterQueue uses."""
    return {
        str(name): state.sums[name].allocated[0]
        for name, queue in state.queues.items()
        if isinstance(queue.extension, ClusterQueue)
    }


def _evicted(decision: object) -> str:
    match decision:
        case Start():
            return f"start {decision.workload}"
        case Evict(beneficiary=None):
            return f"evict {decision.workload}: {decision.reason.code}"
        case Evict():
            return f"evict {decision.workload} for {decision.beneficiary}: {decision.reason.code}"
        case Reserve():
            return f"reserve {decision.workload} until {' '.join(decision.waits_for)} left"
        case Wait() | Unknown():
            return f"wait {decision.workload}: {decision.reason.code}"
        case _:
            raise AssertionError(decision)


def _queue(row: dict[str, str], groups: tuple[ResourceGroup, ...]) -> Queue:
    is_cohort = row["name"].isupper()
    parent = row.get("parent", "-")
    size = sum(len(group.axes()) for group in groups)

    def amounts(column: str) -> tuple[int | None, ...]:
        texts = row.get(column, "-").split(",")
        texts = texts * size if texts == ["-"] else texts
        return tuple(None if text == "-" else int(text) for text in texts)

    return Queue(
        name=cohort_queue(row["name"]) if is_cohort else QueueName(row["name"]),
        parent=None if parent == "-" else cohort_queue(parent),
        weights=(Decimal(row.get("weight", "1").replace("-", "1")),) * size,
        guaranteed=tuple(amount or 0 for amount in amounts("quota")),
        ceiling=(None,) * size,
        borrow_limit=amounts("borrow"),
        lend_limit=amounts("lend"),
        extension=Cohort(resource_groups=groups) if is_cohort else _rules(row, groups),
    )


def _rules(row: dict[str, str], groups: tuple[ResourceGroup, ...]) -> ClusterQueue:
    """Return the rules of a ClusterQueue, Kueue's defaults where the table has none."""

    def choice(column: str, default: str) -> Any:
        text = row.get(column, "-")
        return default if text == "-" else text

    policy, _, threshold = choice("borrowWithin", "Never").partition("<=")
    return ClusterQueue(
        resource_groups=groups,
        namespace_selector=LabelSelector(),
        queueing_strategy=choice("strategy", "BestEffortFIFO"),
        stop_policy=choice("stop", "None"),
        fungibility=FlavorFungibility(
            when_can_borrow=choice("whenBorrow", "MayStopSearch"),
            when_can_preempt=choice("whenPreempt", "TryNextFlavor"),
            preference=choice("preference", "BorrowingOverPreemption"),
        ),
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
    texts = row["asks"].split("+")
    names = ["main"] if len(texts) == 1 else [f"set-{at}" for at in range(len(texts))]
    kind = row.get("kind", "-")
    nodes = PodConstraints(node_selector=() if kind == "-" else (("kind", kind),))
    pod_sets = tuple(_pod_set(name, text, nodes) for name, text in zip(names, texts, strict=True))

    def moment(column: str) -> int | None:
        text = row.get(column, "-")
        return None if text == "-" else int(text)

    return Workload(
        name=WorkloadName(row["name"]),
        namespace=NAMESPACE,
        queue=QueueName(row["queue"]),
        pod_sets=PodSets(pod_sets),
        min_count=sum(each.min_count for each in pod_sets),
        priority=moment("priority") or 0,
        active=row.get("active", "yes") != "no",
        created_ms=moment("created") or 0,
        extension=KueueWorkload(
            local_queue=row["queue"],
            requeued_ms=moment("requeued"),
            back_off_until_ms=moment("backOff"),
        ),
    )


def _memory(row: dict[str, str]) -> KueueMemory:
    text = row.get("preempted", "-")
    return KueueMemory(
        preempting=row.get("preempting", "-") == "yes",
        preempted_ms=None if text == "-" else int(text),
    )


def _pod_set(name: str, text: str, nodes: PodConstraints) -> PodSet:
    counts, _, size = text.rpartition("x")
    with_fewest_pods, _, most = counts.rpartition("-")
    count = int(most or "1")
    requests = tuple(map(int, size.split(",")))
    return PodSet(
        name=name,
        count=count,
        min_count=int(with_fewest_pods or count),
        requests=requests,
        constraints=nodes,
    )


def with_rules(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a ClusterQueue's own rules."""
    queue = state.queues[QueueName(name)]
    assert isinstance(queue.extension, ClusterQueue)
    state.apply(QueueChanged(replace(queue, extension=replace(queue.extension, **changes))))


def with_queue(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a node of the tree, such as its quota."""
    state.apply(QueueChanged(replace(state.queues[QueueName(name)], **changes)))


def with_workload(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a workload."""
    state.apply(WorkloadChanged(replace(state.workloads[WorkloadName(name)], **changes)))


def with_extension(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of what only a workload of Kueue has."""
    known = state.workloads[WorkloadName(name)].extension
    assert isinstance(known, KueueWorkload)
    with_workload(state, name, extension=replace(known, **changes))


def memory_of(state: ClusterState, name: str) -> KueueMemory:
    """Return what is remembered of a workload."""
    found = state.memories.get(WorkloadName(name), KueueMemory())
    assert isinstance(found, KueueMemory)
    return found


def with_memory(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of what is remembered of a workload."""
    changed = replace(memory_of(state, name), **changes)
    state.apply(MemoryChanged(WorkloadName(name), changed))


def with_constraints(state: ClusterState, name: str, *constraints: PodConstraints) -> None:
    """Say where the pods of a workload may run, set by set."""
    sets = state.workloads[WorkloadName(name)].pod_sets
    changed = [replace(each, constraints=c) for each, c in zip(sets, constraints, strict=True)]
    with_workload(state, name, pod_sets=PodSets(changed))


def with_catalogue(state: ClusterState, **changes: Any) -> None:
    """Change what there is of flavors, local queues or namespaces."""
    state.apply(CatalogueChanged(replace(state.catalogue, **changes)))


def with_local_queue(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of the LocalQueue of that name."""
    key = f"{NAMESPACE}/{name}"
    known = state.catalogue.local_queues
    with_catalogue(state, local_queues={**known, key: replace(known[key], **changes)})


def decided(planned: Plan, name: str) -> Decision:
    """Return the only decision about a workload."""
    (found,) = [each for each in planned.decisions if each.workload == name]
    return found


def granted(planned: Plan, name: str) -> list[str]:
    """Return what each pod set of one that starts or is promised a start gets: ``2 on red``."""
    found = decided(planned, name)
    assert isinstance(found, Start | Reserve), found
    # The placements come set by set, and each set's pods are numbered.
    counts = Counter([place.pod.rpartition("-")[0] for place in found.placements])
    return [
        f"{count} on {' '.join(dict.fromkeys(flavors.values()))}"
        for count, flavors in zip(counts.values(), found.flavors, strict=True)
    ]
