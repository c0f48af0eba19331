"""Whether a plan may stop before every head has had its turn, and go on in the next one.

That must come to the same as one plan. A head that was inadmissible would be a head again, and
shift the cycles of its tree; a later preemptor must not evict a workload that started in the same
plan. So a plan is cut only where it is plain that all pending workloads get quota: then none is
inadmissible, and none preempts.
"""

from collections.abc import Iterator

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import quota_tree, rules_of, trees_of
from fairlead.policy.kueue.workloads import Usage


def may_be_sliced(
    state: ClusterState, settings: KueueSettings, pending: WaitingPods, starts: int
) -> bool:
    """Return whether more than *starts* pods wait, and all of them plainly get quota in one plan.

    Not so where a workload has to choose between flavors, may find none that suits its pods, or has
    a promise from an earlier plan; nor where past usage counts, which a plan adds to. Cost: the
    workloads that changed, and the queues.
    """
    if sum(pending.by_shape().values()) <= starts:
        return False
    if settings.admission_fair_sharing is not None or state.promised:
        return False
    wheres = [shape.constraints for shape in pending.by_shape()]
    if any(each.node_selector or each.node_terms or each.unsupported for each in wheres):
        return False
    if any(each.node_taints for each in state.catalogue.flavors.values()):
        return False
    # Turn by turn, heads stand in the classical order by what they borrowed when they entered it.
    may_borrow = settings.fair_sharing or not settings.keeps_promises
    return all(_is_quota_enough(state, names, may_borrow=may_borrow) for names in trees_of(state))


def _is_quota_enough(state: ClusterState, names: list[QueueName], *, may_borrow: bool) -> bool:
    """Return whether a tree has quota for all its pending workloads together."""
    rules = rules_of(state, names)
    waited_for = [name for name in rules if any(state.sums[name].pending)]
    if not waited_for:
        return True
    tree = quota_tree(state, names, rules)
    for name in waited_for:
        usage = _usage(state, name, rules[name])
        if usage is None:
            return False
        tree.charge_axes(name, usage)
    if not may_borrow and any(map(tree.is_borrowing, rules)):
        return False
    return all(_has_enough(tree, name, len(state.axes)) for name in rules)


def _usage(state: ClusterState, name: QueueName, rules: ClusterQueue) -> Usage | None:
    """Return what all pending workloads of a queue use; None: its quota does not tell."""
    flavor_of = dict(_flavors(rules))
    usage = []
    for resource, amount in zip(state.resources, state.sums[name].pending, strict=True):
        if not amount or (resource == "pods" and resource not in flavor_of):
            continue
        flavor = flavor_of.get(resource)
        axis = None if flavor is None else state.axes.index(resource, flavor)
        if axis is None:
            return None
        usage.append((axis, amount))
    return tuple(usage)


def _flavors(rules: ClusterQueue) -> Iterator[tuple[str, str | None]]:
    """Yield which flavor each resource takes; None: there are several."""
    for group in rules.resource_groups:
        only = group.flavors[0] if len(group.flavors) == 1 else None
        for resource in group.resources:
            yield resource, only


def _has_enough(tree: QuotaTree, name: QueueName, axes: int) -> bool:
    return all(tree.available_on(name, axis) >= 0 for axis in range(axes))
