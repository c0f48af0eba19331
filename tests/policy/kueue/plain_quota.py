"""Quota, use and room of a node as the rules state them, added up anew for every question."""

from collections.abc import Mapping

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState


class PlainQuota:
    """One axis of the tree of a state; *used* is what each ClusterQueue uses of it."""

    def __init__(self, state: ClusterState, axis: int, used: Mapping[QueueName, int]) -> None:
        self.state = state
        self.axis = axis
        self.used = used

    def local(self, name: QueueName) -> int:
        """What the parent never sees."""
        limit = self.state.queues[name].lend_limit[self.axis]
        return 0 if limit is None else max(0, self.subtree(name) - limit)

    def subtree(self, name: QueueName) -> int:
        nominal = self.state.queues[name].guaranteed[self.axis] or 0
        below = self.state.children(name)
        return nominal + sum(self.subtree(each) - self.local(each) for each in below)

    def usage(self, name: QueueName) -> int:
        below = self.state.children(name)
        if not below:
            return self.used.get(name, 0)
        return sum(max(0, self.usage(each) - self.local(each)) for each in below)

    def available(self, name: QueueName) -> int:
        parent = self.state.queues[name].parent
        if parent is None:
            return self.subtree(name) - self.usage(name)
        local, usage = self.local(name), self.usage(name)
        from_above = self.available(parent)
        limit = self.state.queues[name].borrow_limit[self.axis]
        if limit is not None:
            own = self.subtree(name) - local
            from_above = min(from_above, own - max(0, usage - local) + limit)
        return max(0, local - usage) + from_above

    def most(self, name: QueueName) -> int | None:
        """What a node may use by its own limits: None if only those above bound it.

        The root has what is its own and what is lent to it; others that and what they may borrow.
        """
        queue = self.state.queues[name]
        if queue.parent is None:
            return self.subtree(name)
        limit = queue.borrow_limit[self.axis]
        return None if limit is None else self.subtree(name) + limit


def used_by_queue(state: ClusterState, *, with_leaving: bool) -> dict[QueueName, Amounts]:
    """What each ClusterQueue uses, workload by workload."""
    used: dict[QueueName, list[int]] = {}
    for name, run in state.runs.items():
        row = used.setdefault(state.workloads[name].queue, [0] * len(state.axes))
        for pod, placed in run.pods.items():
            if with_leaving or placed.phase != "leaving":
                for axis, amount in enumerate(run.charge(pod)):
                    row[axis] += amount
    return {queue: tuple(row) for queue, row in used.items()}
