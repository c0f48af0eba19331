"""What each namespace with a quota has and uses, and all of them together, kept pod by pod.

Use is known twice: as of *now*, where pods that are leaving count until they are gone, and as of
*later*, once they are. Keeping the sums makes an admission check cost the axes, and not the quotas.
"""

from collections.abc import Sequence
from operator import add, gt, sub
from typing import Final

from fairlead.model.accounting.queue_tree import QueueSums
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.charges import CORE, Charges
from fairlead.policy.elastic_quota.settings import PluginQuirks


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
