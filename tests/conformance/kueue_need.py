"""On which axes a request is larger than what its ClusterQueue can use now."""

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.workloads import Usage


def lacking_axes(tree: QuotaTree, queue: QueueName, request: Usage) -> frozenset[int]:
    """Return the axes on which *request* does not fit. Cost: the depth, for each axis of it."""
    return frozenset(axis for axis, amount in request if amount > tree.available_on(queue, axis))
