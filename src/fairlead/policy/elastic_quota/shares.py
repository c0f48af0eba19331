"""What each namespace has, uses, borrows and lends, and what is left of the pool of guarantees."""

from collections import Counter
from collections.abc import Sequence
from operator import add, sub

import msgspec

from fairlead.fairness.elastic_pool import NamespaceQuota, PoolSums, borrowed, pool_sums
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.charges import Charges
from fairlead.policy.elastic_quota.quota_books import QuotaBooks
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ElasticShare(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one namespace, an entry per quota axis."""

    queue: QueueName
    used: Amounts  # pods that were told to stop count until they have stopped
    requested: Amounts  # used and waiting
    borrowed: Amounts
    unused: Amounts  # guaranteed and free to lend
    lent: Amounts  # its part of what others borrow


class ElasticShares:
    """The numbers that decisions rest on: of every namespace with a quota, and of the pool."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings):
        """Read the books of *state*, kept as *settings* have it.

        Cost: O(namespaces x axes), and a look at each pod if pods are charged as the plugin does.
        """
        self._state = state
        self._quirks = settings.quirks
        self._charges = Charges(state, as_plugin=settings.quirks.own_charge)
        self._books = QuotaBooks(state, self._charges, settings.quirks)
        self.quotas = {name: self._quota(name) for name in state.tree_order()}
        self.pool: PoolSums = pool_sums(list(self.quotas.values()), len(state.axes))

    def rows(self) -> list[ElasticShare]:
        """Return the numbers of every namespace, by name.

        On every axis what they lend adds up to what the pool lends.
        """
        unused = [_unused(quota) for quota in self.quotas.values()]
        columns = [
            lent_by_each(lent, column)
            for lent, *column in zip(self.pool.lent, *unused, strict=True)
        ]
        lent = zip(*columns, strict=True) if columns else [()] * len(unused)
        return [
            self._row(quota, *idle)
            for quota, *idle in zip(self.quotas.values(), unused, lent, strict=True)
        ]

    def _quota(self, name: QueueName) -> NamespaceQuota:
        return NamespaceQuota(
            namespace=name,
            guaranteed=self._books.guaranteed[name],
            ceiling=self._books.ceiling[name],
            used=tuple(self._books.now.used[name]),
        )

    def _row(self, quota: NamespaceQuota, unused: Amounts, lent: Amounts) -> ElasticShare:
        name = QueueName(quota.namespace)
        return ElasticShare(
            queue=name,
            used=quota.used,
            requested=tuple(map(add, quota.used, self._waiting(name))),
            borrowed=borrowed(quota),
            unused=unused,
            lent=lent,
        )

    def _waiting(self, name: QueueName) -> Amounts:
        """Return what the pods without a place would cost that are not held back."""
        state = self._state
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        if self._quirks.own_charge:
            for job in state.waiting(name):
                waiting = self._recharged(waiting, state.workloads[job])
        return waiting

    def _recharged(self, waiting: Amounts, workload: Workload) -> Amounts:
        """Return *waiting* with what the plugin charges pods of *workload* beyond their nodes."""
        run = self._state.runs.get(workload.name)
        set_index = workload.pod_sets.set_index
        placed = Counter([set_index[pod] for pod in run.pods] if run else [])
        for at, pod_set in enumerate(workload.pod_sets):
            more = self._charges.beyond_node(workload, at)
            if more is not None and workload.active and not pod_set.gated:
                count = pod_set.count - placed[at]
                waiting = tuple(map(add, waiting, [count * amount for amount in more]))
        return waiting


def lent_by_each(lent: int, unused: Sequence[int]) -> list[int]:
    """Return whose *unused* guarantee is lent: of each in proportion, exact to one base unit.

    The pool is one, so nobody knows whose it was that others borrow. These books treat all who
    leave something alike, as Kueue's do (`lent_quota` there): the parts add up to *lent*,
    which is at most all that is unused, and nobody lends more than it leaves. No decision depends
    on it.
    """
    total = sum(unused)
    assert 0 <= lent <= total
    # Rounding the running total, not each part, keeps every error below one unit.
    parts, seen, given = [], 0, 0
    for amount in unused:
        seen += amount
        part = lent * seen // total - given if seen else 0
        parts.append(part)
        given += part
    return parts


def _unused(quota: NamespaceQuota) -> Amounts:
    return tuple([max(0, left) for left in map(sub, quota.guaranteed, quota.used)])
