"""From a cluster's state to the snapshots of Kueue's rules, one cohort tree at a time.

Quota is shared inside the tree below one root and never between trees, so each tree is planned on
its own. An evicted workload has its quota until it has left.
"""

from collections.abc import Container, Iterator, Mapping

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.pending.admissibility import is_active
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage
from fairlead.policy.kueue.pending.order import queued_ms
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads
from fairlead.policy.kueue.snapshot.shares import quota_node
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, run_usage


def snapshots(
    state: ClusterState,
    settings: KueueSettings,
    now_ms: int,
    drained: Container[WorkloadName],
    local_usage: LocalQueueUsage | None = None,
    by_queue: Mapping[QueueName, AdmittedWorkloads] | None = None,
) -> Iterator[Snapshot]:
    """Yield one snapshot for each tree with pending workloads, by the name of its root.

    The workloads in *drained* are leaving as well. A workload that is held as a victim uses quota
    and is no candidate. *by_queue* are the admitted workloads, if they are known. Cost: O(nodes x
    axes), and without *by_queue* a look at each workload of these trees.
    """
    waited_for = set(state.waited_for())
    for names in trees_of(state):
        if waited_for.isdisjoint(names):
            continue
        rules = rules_of(state, names)
        admitted = (
            []
            if by_queue is not None
            else _admitted_workloads(state, settings, now_ms, drained, rules)
        )
        parents = {name: state.queues[name].parent for name in names}
        tree = quota_tree(state, names, rules)
        yield Snapshot(tree, parents, rules, admitted, local_usage, by_queue=by_queue)


def _admitted_workloads(
    state: ClusterState,
    settings: KueueSettings,
    now_ms: int,
    drained: Container[WorkloadName],
    rules: Mapping[QueueName, ClusterQueue],
) -> list[AdmittedWorkload]:
    """Return the candidates for preemption in the queues of one tree, whose *rules* these are."""
    admitted = [
        admitted_workload(state, workload, settings, now_ms, is_drained=workload in drained)
        for name in rules
        for workload in state.queued(name)
        if workload in state.runs
    ]
    # Kueue preempts nothing in a queue that is not active. A workload that leaves one frees
    # quota all the same, which matters where it is promised.
    counts_freed, held = settings.keeps_promises, state.holds.victim_workloads()
    active = {name for name in rules if is_active(state, rules[name])}
    admitted = [h for h in admitted if h.queue in active or (counts_freed and h.is_evicted)]
    return [h for h in admitted if h.is_evicted or h.name not in held]


def empty_snapshot(state: ClusterState, names: list[QueueName]) -> Snapshot:
    """Return the tree of *names* as if no workload were admitted."""
    rules = rules_of(state, names)
    nodes = [quota_node(state, state.queues[name]) for name in names]
    tree = QuotaTree([axis.resource for axis in state.axes.axes], nodes)
    return Snapshot(tree, {name: state.queues[name].parent for name in names}, rules, ())


def rules_of(state: ClusterState, names: list[QueueName]) -> dict[QueueName, ClusterQueue]:
    """Return the rules of those of *names* that are ClusterQueues."""
    return {
        name: extension
        for name in names
        if isinstance(extension := state.queues[name].extension, ClusterQueue)
    }


def trees_of(state: ClusterState) -> list[list[QueueName]]:
    """Return the names of each tree, parents before children."""
    trees: list[list[QueueName]] = []
    for name in state.tree_order():
        if state.queues[name].parent is None:
            trees.append([])
        trees[-1].append(name)
    return trees


def quota_tree(
    state: ClusterState, names: list[QueueName], rules: dict[QueueName, ClusterQueue]
) -> QuotaTree:
    """Return the tree of *names*, of which *rules* are those of the leaves, with what is used."""
    usage: dict[str, Amounts] = {}
    for name in rules:
        sums = state.sums[name]
        usage[name] = tuple(map(sum, zip(sums.allocated, sums.leaving, strict=True)))
    resources = [axis.resource for axis in state.axes.axes]
    return QuotaTree(resources, [quota_node(state, state.queues[name]) for name in names], usage)


def admitted_workload(
    state: ClusterState,
    name: WorkloadName,
    settings: KueueSettings,
    now_ms: int,
    *,
    is_drained: bool,
) -> AdmittedWorkload:
    """Return an admitted workload as the search for victims sees it."""
    workload, run = state.workloads[name], state.runs[name]
    reserved_ms = run.started_ms() or 0
    return AdmittedWorkload(
        name=name,
        queue=workload.queue,
        priority=workload.priority,
        usage=run_usage(run),
        queued_ms=queued_ms(workload, settings),
        reserved_ms=reserved_ms,
        is_evicted=is_drained or any(at.phase == "leaving" for at in run.pods.values()),
        is_protected=now_ms - reserved_ms < settings.options.min_run_time_ms,
    )
