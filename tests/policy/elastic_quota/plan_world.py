"""Clusters under ElasticQuotas, read from text tables, and what plans make of them.

Amounts are whole numbers of one resource (``gpu``) unless said otherwise, so that tests show their
arithmetic. Nodes do not differ in their score then, so pods go to the first that has room, by name.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from fairlead.model.axes import Amounts, Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, DisruptionBudget
from fairlead.model.events import (
    CatalogueChanged,
    MemoryChanged,
    NodeAdded,
    NodeChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.execution.executor import apply
from fairlead.model.memory import ElasticMemory
from fairlead.model.node import Node
from fairlead.model.plan import (
    Comparison,
    Decision,
    Evict,
    LeftPending,
    Plan,
    Reason,
    Reserve,
    Start,
    Term,
    Unknown,
    Wait,
)
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodConstraints, PodId, PodSet, PodSets, Workload
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.text_table import rows

OURS = ElasticQuotaSettings()
NOW_MS = 100_000
HOST = "kubernetes.io/hostname"


def cluster(
    quotas: str, nodes: str, pods: str = "", budgets: str = "", resources: str = "gpu"
) -> ClusterState:
    """Return the cluster of some tables; ``-`` is none, and columns not named below are optional.

    Quotas: ``of min max``, the namespace and its bounds. Nodes: ``name has``, and ``cordoned``.
    Pods: ``name of asks``, and

    - ``priority``, ``created``, ``since`` (when it started, if it runs);
    - ``on``: its node, with ``!`` if it is leaving; ``nominated``: the node that it waits for;
    - ``needs``: how many must run together (minMember). Then ``asks`` is like ``3x2`` (three pods
      of 2) or ``1x3+2x1``, and ``on`` and ``nominated`` have a node or ``-`` for each pod, joined
      by commas (or ``-`` for all);
    - ``least`` (minResources), ``timeout`` (seconds), ``nominatedAt``, ``policy`` (``Never``),
      ``gated`` (``yes``), ``app`` (a label), ``apart`` (the app that may not be on the same node).

    Budgets: ``of app allowed``. *resources* are joined by commas, as amounts then are: ``2,5``.
    """
    names = resources.split(",")
    state = ClusterState(names, QuotaAxes([Axis(name) for name in names]))
    for row in rows(quotas) if quotas.strip() else []:
        state.apply(QueueChanged(_quota(row, len(names))))
    for row in rows(nodes):
        state.apply(NodeAdded(_node(row)))
    if budgets.strip():
        state.apply(CatalogueChanged(_catalogue(budgets)))
    for row in rows(pods) if pods.strip() else []:
        add(state, row)
    return state


def add(state: ClusterState, row: dict[str, str]) -> None:
    """Let one more pod or gang be there, as a row of the table says."""
    workload = _workload(row)
    state.apply(WorkloadAdded(workload))
    state.apply(MemoryChanged(workload.name, _memory(row, workload)))
    texts = _each(row, "on", workload)
    placed = [(pod, text.rstrip("!")) for pod, text in texts.items() if text != "-"]
    if placed:
        state.apply(
            WorkloadStarted(
                workload=workload.name,
                placements=tuple([Placement(pod, node) for pod, node in placed]),
                at_ms=_number(row, "since", 0),
            )
        )
    leaving = tuple([pod for pod, text in texts.items() if text.endswith("!")])
    if leaving:
        state.apply(WorkloadLeaving(workload=workload.name, pods=leaving))


def _number(row: dict[str, str], column: str, default: int) -> int:
    text = row.get(column, "-")
    return default if text == "-" else int(text)


def _amounts(text: str) -> Amounts:
    return tuple(map(int, text.split(",")))


def _quota(row: dict[str, str], size: int) -> Queue:
    texts = row.get("max", "-").split(",")
    texts = texts * size if texts == ["-"] else texts
    ceiling = tuple([None if text == "-" else int(text) for text in texts])
    return Queue(
        name=QueueName(row["of"]),
        weights=(Decimal(1),) * size,
        guaranteed=_amounts(row["min"]),
        ceiling=ceiling,
        borrow_limit=(None,) * size,
        lend_limit=(None,) * size,
        extension=ElasticQuota(object_name=row["of"]),
    )


def _node(row: dict[str, str]) -> Node:
    has = _amounts(row["has"])
    return Node(
        name=row["name"],
        allocatable=has,
        labels={HOST: row["name"]},
        cordoned=row.get("cordoned", "-") == "yes",
    )


def _app(name: str) -> LabelSelector:
    return LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=(name,)),))


def _catalogue(budgets: str) -> Catalogue:
    found = {
        f"{row['of']}/{row['app']}": DisruptionBudget(
            namespace=row["of"],
            name=row["app"],
            selector=_app(row["app"]),
            disruptions_allowed=int(row["allowed"]),
        )
        for row in rows(budgets)
    }
    return Catalogue(budgets=found)


def _workload(row: dict[str, str]) -> Workload:
    sets = tuple([_pod_set(row, text, at) for at, text in enumerate(row["asks"].split("+"))])
    workload = Workload(
        name=WorkloadName(row["name"]),
        namespace=row["of"],
        queue=QueueName(row["of"]),
        pod_sets=PodSets(sets),
        min_count=_number(row, "needs", 1),
        priority=_number(row, "priority", 0),
        created_ms=_number(row, "created", 0),
    )
    least, timeout = row.get("least", "-"), row.get("timeout", "-")
    never = row.get("policy", "-") == "Never"
    own = ElasticPods(
        preemption_policy="Never" if never else "PreemptLowerPriority",
        min_resources=None if least == "-" else _amounts(least),
        schedule_timeout_s=None if timeout == "-" else int(timeout),
    )
    return replace(workload, extension=own)


def _memory(row: dict[str, str], workload: Workload) -> ElasticMemory:
    nodes = {pod: node for pod, node in _each(row, "nominated", workload).items() if node != "-"}
    since_ms = _number(row, "nominatedAt", NOW_MS) if nodes else None
    return ElasticMemory(nominated=nodes, nominated_ms=since_ms)


def _pod_set(row: dict[str, str], text: str, at: int) -> PodSet:
    count, _, size = text.rpartition("x")
    app, apart = row.get("app", "-"), row.get("apart", "-")
    term = PodTerm(topology_key=HOST, selector=_app(apart), namespaces=(row["of"],))
    return PodSet(
        name=f"{row['name']}-{at}" if "+" in row["asks"] else row["name"],
        count=int(count or 1),
        min_count=0,
        requests=_amounts(size),
        labels=() if app == "-" else (("app", app),),
        constraints=PodConstraints(pod_anti_affinity=() if apart == "-" else (term,)),
        gated=row.get("gated", "-") == "yes",
    )


def _each(row: dict[str, str], column: str, workload: Workload) -> dict[PodId, str]:
    """Return what a column says of each pod."""
    text = row.get(column, "-")
    pods = workload.pods()
    return dict(zip(pods, ["-"] * len(pods) if text == "-" else text.split(","), strict=True))


def plan(state: ClusterState, settings: ElasticQuotaSettings = OURS, now_ms: int = NOW_MS) -> Plan:
    """Return the plan, having checked that it is the same twice and leaves the state alone."""
    policy = ElasticQuotaPolicy(settings)
    planned = policy.plan(state, now_ms)
    check_invariants(state)
    assert ElasticQuotaPolicy(settings).plan(state, now_ms) == planned
    return planned


def cycles(
    state: ClusterState,
    settings: ElasticQuotaSettings = OURS,
    most: int = 12,
    now_ms: int = NOW_MS,
) -> Iterator[list[str]]:
    """Yield what each plan says, carried out one after the other, until one changes nothing.

    Who was told to leave has left before the next, and waits again. Everything is planned by one
    policy, which must say what one says that knows nothing of earlier plans.
    """
    policy = ElasticQuotaPolicy(settings)
    for number in range(most):
        now = now_ms + number * 1000
        planned = policy.plan(state, now)
        assert planned == plan(state, settings, now)
        yield told(planned)
        carry_out(state, planned.decisions, now, keeps_reservations=False)
        check_invariants(state)
        if all(isinstance(each, LeftPending) for each in planned.decisions):
            return
    raise AssertionError(f"no rest after {most} plans")


def told(planned: Plan) -> list[str]:
    """Return the decisions in a few words: ``start a on n1: WithinMin``."""
    return list(map(_told, planned.decisions))


def _told(decision: Decision) -> str:
    name = decision.workload
    match decision:
        case Start():
            return f"start {name} on {_nodes(decision)}: {decision.reason.code}"
        case Reserve():
            until = " ".join(decision.waits_for)
            return f"reserve {_nodes(decision)} for {name} until {until} left"
        case Evict():
            which = "".join([f" {pod.rpartition('-')[2]}" for pod in decision.pods])
            return f"evict {name}{which} for {decision.beneficiary}: {decision.reason.code}"
        case Wait():
            return f"wait {name}: {decision.reason.code}"
        case Unknown():
            return f"unknown {name}: {' '.join(decision.reason.names)}"
        case _:
            raise AssertionError(decision)


def _nodes(decision: Start | Reserve) -> str:
    return " ".join([str(each.node) for each in decision.placements])


def decided(planned: Plan, name: str) -> Decision:
    """Return the only decision about a workload."""
    (found,) = [each for each in planned.decisions if each.workload == name]
    return found


def reasons(planned: Plan, name: str) -> list[str]:
    """Return why, with the numbers; for one that waits, also why nobody gives way to it."""
    found = decided(planned, name)
    claims = found.claims if isinstance(found, Wait) else ()
    return [*told_reason(found.reason), *[line for c in claims for line in told_reason(c.reason)]]


def told_reason(reason: Reason) -> list[str]:
    """Return a reason as short lines that a scenario can state."""
    return [
        reason.code,
        *map(_compared, reason.comparisons),
        *[f"{each.count} of {each.of} {each.things} {each.what}" for each in reason.tallies],
        *[f"{each.queue} has {each.amount}, {each.borrowed} borrowed" for each in reason.held],
        *reason.names,
    ]


def _compared(comparison: Comparison) -> str:
    left = " + ".join(map(_term, comparison.left))
    assert comparison.holds(), comparison
    return f"{left} {comparison.relation} {_term(comparison.right)}"


def _term(term: Term) -> str:
    return f"{term.name} {term.amount}"


def used(state: ClusterState) -> dict[str, int]:
    """Return what each namespace uses of the first resource, those who are leaving included."""
    return {
        str(name): state.sums[name].allocated[0] + state.sums[name].leaving[0]
        for name in state.queues
    }


def nominated(state: ClusterState, name: str) -> list[str]:
    """Return the nodes for which pods of a workload wait."""
    memory = state.memories.get(WorkloadName(name), ElasticMemory())
    assert isinstance(memory, ElasticMemory)
    return list(memory.nominated.values())


def apply_plan(state: ClusterState, planned: Plan) -> None:
    """Carry a plan out; who was told to leave is leaving from then on."""
    apply(state, planned)
    check_invariants(state)


def gone(state: ClusterState, name: str) -> None:
    """Let all pods of a workload that are leaving have left."""
    pods = state.runs[WorkloadName(name)].pods
    leaving = tuple([pod for pod, placed in pods.items() if placed.phase == "leaving"])
    state.apply(WorkloadStopped(workload=WorkloadName(name), pods=leaving))


def with_node(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a node."""
    state.apply(NodeChanged(replace(state.nodes[name], **changes)))


def with_workload(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a pod or gang."""
    state.apply(WorkloadChanged(replace(state.workloads[WorkloadName(name)], **changes)))


def with_quota(state: ClusterState, name: str, **changes: Any) -> None:
    """Change fields of a quota, such as ``ceiling``."""
    state.apply(QueueChanged(replace(state.queues[QueueName(name)], **changes)))
