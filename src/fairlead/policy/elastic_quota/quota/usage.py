"""What each namespace with a quota has and uses, and all of them together, kept pod by pod.

Use is known twice: as of *now*, where pods that are leaving count until they are gone, and as of
*later*, once they are. Keeping the sums makes an admission check cost the axes, and not the quotas.
"""

from collections.abc import Sequence
from operator import add, gt, sub
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.queue_sums import QueueSums
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.settings import PluginQuirks

_SPARE: Final = 1_000  # workloads that are gone may be remembered, so that forgetting is rare
CORE: Final = ("cpu", "memory", "ephemeral-storage")


class Charge(NamedTuple):
    """What one pod of a set costs, an entry per axis, and the axes that it names."""

    amounts: Amounts
    named: frozenset[int]


class _Known(NamedTuple):
    workload: Workload
    charges: tuple[Charge, ...]  # of a pod of each set
    serial: int


class Charges:
    """The charges of all workloads of one state, worked out once for each."""

    def __init__(self, state: ClusterState, *, as_plugin: bool) -> None:
        """Charge as the plugin does, or what a node is charged."""
        self._state = state
        self._as_plugin = as_plugin
        self._known: dict[WorkloadName, _Known] = {}
        self._last_serial = 0

    def of(self, workload: Workload, pod_set: int) -> Charge:
        """Return what a pod of a set of *workload* costs."""
        return self._of(workload).charges[pod_set]

    def serial(self, workload: Workload) -> int:
        """Return a number that *workload* has as long as nothing about it changes."""
        return self._of(workload).serial

    def _of(self, workload: Workload) -> "_Known":
        known = self._known.get(workload.name)
        if known is None or known.workload is not workload:
            self._forget_who_is_gone()
            charges = tuple([self._charge(workload, at) for at in range(len(workload.pod_sets))])
            self._last_serial += 1
            known = _Known(workload, charges, self._last_serial)
            self._known[workload.name] = known
        return known

    def _forget_who_is_gone(self) -> None:
        there = self._state.workloads
        if len(self._known) > 2 * len(there) + _SPARE:
            self._known = {name: each for name, each in self._known.items() if name in there}

    def beyond_node(self, workload: Workload, pod_set: int) -> Amounts | None:
        """Return by how much the charge is more than the node's; None: it is the same."""
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
        return own.plugin_requests[pod_set]  # may name nothing: then it costs nothing
    return None


class QuotaUse:
    """What the namespaces use at one of the two times."""

    def __init__(self, guaranteed: dict[QueueName, Amounts], size: int) -> None:
        """Begin with nothing used; the namespaces are those with a *guaranteed* part."""
        self.used: dict[QueueName, list[int]] = {queue: [0] * size for queue in guaranteed}
        self.pool: list[int] = [0] * size
        self.is_over_min: dict[QueueName, bool] = dict.fromkeys(guaranteed, False)
        self.stirred: dict[QueueName, None] = {}  # whose use changed since somebody cleared this
        self._guaranteed = guaranteed

    def add(self, queue: QueueName, amounts: Sequence[int], sign: int = 1) -> None:
        """Count *amounts* for a namespace that has a quota, or with -1 take them back."""
        used, pool = self.used[queue], self.pool
        for axis, amount in enumerate(amounts):
            if amount:
                used[axis] += sign * amount
                pool[axis] += sign * amount
        self.is_over_min[queue] = is_over(used, self._guaranteed[queue])
        self.stirred[queue] = None

    def left_of_min(self, queue: QueueName) -> list[int]:
        """Return how much of its min a namespace does not use."""
        pairs = zip(self._guaranteed[queue], self.used[queue], strict=True)
        return [max(0, least - used) for least, used in pairs]


class QuotaBooks:
    """The quotas of one state, and what is used of them now and later."""

    def __init__(self, state: ClusterState, charges: Charges, quirks: PluginQuirks) -> None:
        """Read the quotas of *state*. Cost: the quotas, and the pods if they cost more than there.

        Pods of a namespace without a quota are in no book.
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
        self.now: Final = QuotaUse(self.guaranteed, size)
        self.later: Final = QuotaUse(self.guaranteed, size)
        for name in state.queues:
            sums = state.sums[name]
            self.later.add(name, sums.allocated)
            self.now.add(name, sums.allocated)
            self.now.add(name, sums.leaving)
        if quirks.own_charge:
            self._recharge(state, charges)

    def read_again(self, queue: QueueName, sums: QueueSums) -> None:
        """Bring what a namespace uses up to date, where pods cost what nodes are charged."""
        self.later.add(queue, list(map(sub, sums.allocated, self.later.used[queue])))
        now = map(add, sums.allocated, sums.leaving)
        self.now.add(queue, list(map(sub, now, self.now.used[queue])))

    def start(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Count a pod that gets its node."""
        if queue is not None:
            self.now.add(queue, amounts)
            self.later.add(queue, amounts)

    def undo_start(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Take a start back."""
        if queue is not None:
            self.now.add(queue, amounts, -1)
            self.later.add(queue, amounts, -1)

    def leave(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Count a pod that is told to leave; for now it still holds what it has."""
        if queue is not None:
            self.later.add(queue, amounts, -1)

    def undo_leave(self, queue: QueueName | None, amounts: Amounts) -> None:
        """Take the order to leave back."""
        if queue is not None:
            self.later.add(queue, amounts)

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
                        self.later.add(workload.queue, more)


def is_over(used: Sequence[int], bounds: Sequence[int]) -> bool:
    """Return whether *used* is above one of *bounds*."""
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
