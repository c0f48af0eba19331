"""Usage, borrowing and lending of each namespace and of the pool, and the published status.

The status of an ElasticQuota is not what decisions rest on. The plugin's controller counts pods
that run, the scheduler counts pods that have a node; and the controller always sums requests in the
plugin's way, whatever quirks are off here. A comparison with a cluster needs ``status.used`` as the
controller writes it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import add, sub

import msgspec

from fairlead.fairness.elastic_pool import NamespaceQuota, PoolSums, borrowed, pool_sums
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.quota.usage import Charge, Charges, QuotaUsage
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ElasticShare(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one namespace, one entry per quota axis."""

    queue: QueueName
    used: Amounts  # terminating pods count until they are gone
    requested: Amounts  # used and pending
    borrowed: Amounts
    unused: Amounts  # guaranteed, and free to lend
    lent: Amounts  # its part of what others borrow


class ElasticShares:
    """The numbers that decisions rest on, for every namespace with a quota and for the pool."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings):
        """Read the usage of *state* as *settings* count it.

        Cost: O(namespaces x axes), and all pods if pods are charged as the plugin does.
        """
        self._state = state
        self._quirks = settings.quirks
        self._charges = Charges(state, as_plugin=settings.quirks.own_charge)
        self._quotas = QuotaUsage(state, self._charges, settings.quirks)
        self.quotas = {name: self._quota(name) for name in state.tree_order()}
        self.pool: PoolSums = pool_sums(list(self.quotas.values()), len(state.axes))

    def rows(self) -> list[ElasticShare]:
        """Return the numbers of every namespace, by name.

        On every axis the parts that namespaces lend sum to what the pool lends.
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
            guaranteed=self._quotas.guaranteed[name],
            ceiling=self._quotas.ceiling[name],
            used=tuple(self._quotas.now.used[name]),
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
        """Return the charge of all pending pods of a namespace that have no scheduling gate."""
        state = self._state
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        if self._quirks.own_charge:
            for job in state.waiting(name):
                waiting = self._recharged(waiting, state.workloads[job])
        return waiting

    def _recharged(self, waiting: Amounts, workload: Workload) -> Amounts:
        """Return *waiting* plus what the plugin charges *workload* beyond its node requests."""
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
    """Return how much of its *unused* guarantee each namespace lends, in proportion.

    The pool is shared, so no lender belongs to a borrower. As in Kueue's report
    (`policy.kueue.lent_quota`), each namespace lends in proportion to what it leaves unused, exact
    to one base unit: the parts sum to *lent*, which is at most the sum of *unused*, and no part
    exceeds what its namespace leaves. No decision depends on it.
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


def published_used(state: ClusterState) -> dict[QueueName, dict[str, int]]:
    """Return ``status.used`` of every quota, in base units by resource.

    Pods whose phase is Running count, including those that are being deleted. A resource that min,
    max or a pod names is listed even if its usage is 0. Cost: all pods.
    """
    resources = [axis.resource for axis in state.axes.axes]
    used = nothing_used(state)
    charges = Charges(state, as_plugin=True)
    for name in state.runs:
        own = used.get(state.workloads[name].queue)
        if own is None:
            continue
        for charge in running_charges(state, charges, name):
            for at in charge.named:
                own[resources[at]] = own.get(resources[at], 0) + charge.amounts[at]
    return {name: dict(sorted(own.items())) for name, own in used.items()}


def running_charges(state: ClusterState, charges: Charges, name: WorkloadName) -> Iterator[Charge]:
    """Yield the charge of each pod of a workload whose phase is Running."""
    run = state.runs.get(name)
    if run is None:
        return
    workload = state.workloads[name]
    extension = workload.extension
    starting = extension.not_running if isinstance(extension, ElasticPods) else frozenset()
    for pod, placed in run.pods.items():
        if pod not in starting and placed.phase != "reserved":
            yield charges.of(workload, workload.pod_sets.set_index[pod])


def nothing_used(state: ClusterState) -> dict[QueueName, dict[str, int]]:
    """Return the published usage of namespaces without pods: what min or max lists, with 0."""
    resources = [axis.resource for axis in state.axes.axes]
    return {name: _nothing_used(state.queues[name], resources) for name in state.tree_order()}


def _nothing_used(queue: Queue, resources: list[str]) -> dict[str, int]:
    own = queue.extension
    listed = (own.max_listed if isinstance(own, ElasticQuota) else None) or frozenset()
    pairs = zip(resources, queue.guaranteed, strict=True)
    return {resource: 0 for resource, least in pairs if least or resource in listed}
