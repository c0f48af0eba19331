"""What a pod is charged, and what each namespace and the pool use.

A pod is mostly charged what it requests of its node. The plugin sums requests in its own way, and
reads a resource that a pod names even with 0.

Usage is kept twice: as of now, where terminating pods still count, and after their termination.
Keeping the sums makes an admission check cost the axes and not the number of quotas.
"""

from collections.abc import Sequence
from operator import add, gt, sub
from typing import Final, NamedTuple

from fairlead.model.accounting.queue_tree import QueueSums
from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.settings import PluginQuirks

_SPARE: Final = 1_000  # removed workloads may stay in the cache, so that it is rarely cleaned
CORE: Final = ("cpu", "memory", "ephemeral-storage")


class Charge(NamedTuple):
    """The charge of one pod of a pod set, one entry per axis, and the axes that it names."""

    amounts: Amounts
    named: frozenset[int]


class _Known(NamedTuple):
    workload: Workload
    charges: tuple[Charge, ...]  # one per pod set
    version: int


class Charges:
    """The charges of all workloads of one state, computed once for each workload.

    Computed at each question, they make the simulated month take 1.2 times as long.
    """

    def __init__(self, state: ClusterState, *, as_plugin: bool) -> None:
        """Charge as the plugin does, or what a pod requests of its node."""
        self._state = state
        self._as_plugin = as_plugin
        self._known: dict[WorkloadName, _Known] = {}
        self._last_version = 0

    def of(self, workload: Workload, pod_set: int) -> Charge:
        """Return the charge of one pod of a pod set of *workload*."""
        return self._of(workload).charges[pod_set]

    def version(self, workload: Workload) -> int:
        """Return a number that changes whenever *workload* changes."""
        return self._of(workload).version

    def _of(self, workload: Workload) -> "_Known":
        known = self._known.get(workload.name)
        if known is None or known.workload is not workload:
            self._forget_removed()
            charges = tuple([self._charge(workload, at) for at in range(len(workload.pod_sets))])
            self._last_version += 1
            known = _Known(workload, charges, self._last_version)
            self._known[workload.name] = known
        return known

    def _forget_removed(self) -> None:
        there = self._state.workloads
        if len(self._known) > 2 * len(there) + _SPARE:
            self._known = {name: each for name, each in self._known.items() if name in there}

    def beyond_node(self, workload: Workload, pod_set: int) -> Amounts | None:
        """Return by how much the charge exceeds the node's requests; None: they are equal."""
        if not self._as_plugin or _plugin_requests(workload, pod_set) is None:
            return None
        state = self._state
        node = state.axes.charge(state.resources, workload.pod_sets[pod_set].requests)
        own = self.of(workload, pod_set).amounts
        return tuple([a - b for a, b in zip(own, node, strict=True)])

    def _charge(self, workload: Workload, pod_set: int) -> Charge:
        state, axes = self._state, self._state.axes
        amounts = axes.charge(state.resources, workload.pod_sets[pod_set].requests)
        written = _plugin_requests(workload, pod_set)
        if written is None:
            return Charge(amounts, frozenset([at for at, amount in enumerate(amounts) if amount]))
        on_axis = {axes.index(resource): amount for resource, amount in written.items()}
        named = frozenset([at for at in on_axis if at is not None])
        if self._as_plugin:
            amounts = tuple([on_axis.get(at, 0) for at in range(len(axes))])
        return Charge(amounts, named)


def _plugin_requests(workload: Workload, pod_set: int) -> dict[str, int] | None:
    own = workload.extension
    if isinstance(own, ElasticPods) and own.plugin_requests:
        return own.plugin_requests[pod_set]  # may name no resource: then the charge is 0
    return None


class UsageTotals:
    """Usage of every namespace and of the pool at one of the two times."""

    def __init__(self, guaranteed: dict[QueueName, Amounts], size: int) -> None:
        """Start with no usage for the namespaces in *guaranteed*."""
        self.used: dict[QueueName, list[int]] = {queue: [0] * size for queue in guaranteed}
        self.pool: list[int] = [0] * size
        self.is_over_min: dict[QueueName, bool] = dict.fromkeys(guaranteed, False)
        self.changed: dict[
            QueueName, None
        ] = {}  # namespaces whose usage changed; a reader clears it
        self._guaranteed = guaranteed

    def add(self, queue: QueueName, amounts: Sequence[int], sign: int = 1) -> None:
        """Add *amounts* to a namespace that has a quota, or with -1 subtract them."""
        used, pool = self.used[queue], self.pool
        for axis, amount in enumerate(amounts):
            if amount:
                used[axis] += sign * amount
                pool[axis] += sign * amount
        self.is_over_min[queue] = is_over(used, self._guaranteed[queue])
        self.changed[queue] = None

    def unused_min(self, queue: QueueName) -> list[int]:
        """Return how much of its min a namespace leaves unused."""
        pairs = zip(self._guaranteed[queue], self.used[queue], strict=True)
        return [max(0, least - used) for least, used in pairs]


class QuotaUsage:
    """The quotas of one state and their usage, now and after termination."""

    def __init__(self, state: ClusterState, charges: Charges, quirks: PluginQuirks) -> None:
        """Read the quotas of *state*; pods of a namespace without a quota are not counted.

        Cost: the quotas, and all pods if pods are charged as the plugin does.
        """
        size = len(state.axes)
        self.guaranteed: Final = {
            name: tuple([amount or 0 for amount in queue.guaranteed])
            for name, queue in state.queues.items()
        }
        self.ceiling: Final = {
            name: _ceiling(queue, state, quirks) for name, queue in state.queues.items()
        }
        self.pool: Final = tuple(
            [sum(own[axis] for own in self.guaranteed.values()) for axis in range(size)]
        )
        self.now: Final = UsageTotals(self.guaranteed, size)
        self.after_termination: Final = UsageTotals(self.guaranteed, size)
        for name in state.queues:
            sums = state.sums[name]
            self.after_termination.add(name, sums.allocated)
            self.now.add(name, sums.allocated)
            self.now.add(name, sums.leaving)
        if quirks.own_charge:
            self._recharge(state, charges)

    def refresh(self, queue: QueueName, sums: QueueSums) -> None:
        """Bring the usage of a namespace up to date, where pods are charged their node requests."""
        self.after_termination.add(
            queue, list(map(sub, sums.allocated, self.after_termination.used[queue]))
        )
        now = map(add, sums.allocated, sums.leaving)
        self.now.add(queue, list(map(sub, now, self.now.used[queue])))

    def start(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Count a pod that starts."""
        if queue is not None:
            self.now.add(queue, amounts)
            self.after_termination.add(queue, amounts)

    def undo_start(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Undo `start`."""
        if queue is not None:
            self.now.add(queue, amounts, -1)
            self.after_termination.add(queue, amounts, -1)

    def evict(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Count a pod that is evicted; for now it still holds what it has."""
        if queue is not None:
            self.after_termination.add(queue, amounts, -1)

    def undo_evict(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Undo `evict`."""
        if queue is not None:
            self.after_termination.add(queue, amounts)

    def _recharge(self, state: ClusterState, charges: Charges) -> None:
        for name, run in state.runs.items():
            workload = state.workloads[name]
            if workload.queue not in self.guaranteed:
                continue
            for pod, placed in run.pods.items():
                more = charges.beyond_node(workload, workload.pod_sets.set_index[pod])
                if more is not None:
                    self.now.add(workload.queue, more)
                    if placed.phase != "leaving":
                        self.after_termination.add(workload.queue, more)


def is_over(used: Sequence[int], bounds: Sequence[int]) -> bool:
    """Return whether *used* exceeds *bounds* on any axis."""
    return any(map(gt, used, bounds))


def _ceiling(queue: Queue, state: ClusterState, quirks: PluginQuirks) -> Limits:
    own = queue.extension
    if not quirks.max_core_zero or not isinstance(own, ElasticQuota) or own.max_listed is None:
        return queue.ceiling
    listed = own.max_listed
    return tuple(
        [
            0 if axis.resource in CORE and axis.resource not in listed else bound
            for axis, bound in zip(state.axes.axes, queue.ceiling, strict=True)
        ]
    )
