"""From a cluster's state to the snapshots of Kueue's rules, one cohort tree at a time.

Quota is shared inside the tree below one root and never between trees, so each tree is planned on
its own. An evicted workload has its quota until it has left.
"""

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.pending.queue import queued_ms
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.shares import quota_node
from fairlead.policy.kueue.workloads import AdmittedWorkload, run_usage


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
