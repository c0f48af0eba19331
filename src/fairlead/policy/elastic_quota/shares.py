"""What each namespace has, uses and borrows, and what is left of the pool of all guarantees."""

from operator import add

import msgspec

from fairlead.fairness.elastic_pool import NamespaceQuota, PoolSums, borrowed, pool_sums
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState


class ElasticShare(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one namespace, an entry per quota axis."""

    queue: QueueName
    used: Amounts  # pods that were told to stop count until they have stopped
    requested: Amounts  # used and waiting
    borrowed: Amounts
    unused: Amounts  # guaranteed and free to lend


class ElasticShares:
    """The numbers of every namespace with a quota, and of the pool."""

    def __init__(self, state: ClusterState):
        """Add up the quotas of *state*. Cost: O(namespaces x axes)."""
        self._state = state
        self.quotas = {name: self._quota(name) for name in state.tree_order()}
        self.pool: PoolSums = pool_sums(list(self.quotas.values()), len(state.axes))

    def rows(self) -> list[ElasticShare]:
        """Return the numbers of every namespace, by name."""
        return [self._row(name, quota) for name, quota in self.quotas.items()]

    def _quota(self, name: QueueName) -> NamespaceQuota:
        queue = self._state.queues[name]
        sums = self._state.sums[name]
        return NamespaceQuota(
            namespace=name,
            guaranteed=tuple(amount or 0 for amount in queue.guaranteed),
            ceiling=queue.ceiling,
            used=tuple(a + e for a, e in zip(sums.allocated, sums.leaving, strict=True)),
        )

    def _row(self, name: QueueName, quota: NamespaceQuota) -> ElasticShare:
        pairs = zip(quota.guaranteed, quota.used, strict=True)
        return ElasticShare(
            queue=name,
            used=quota.used,
            requested=tuple(map(add, self._state.requested(name), self._state.sums[name].leaving)),
            borrowed=borrowed(quota),
            unused=tuple(max(0, guaranteed - used) for guaranteed, used in pairs),
        )
