"""Quota, usage and admitted workloads of every ClusterQueue at one moment, to try things on.

The tree counts what is used, here and above; admitted workloads are in the order of eviction. A
search takes workloads away and puts them back, so their lists stay as they are and only the tree is
changed. What searches found out about lists and tree at rest is kept for the next one.
"""

from collections.abc import Container, Iterable, Mapping

from msgspec.structs import replace

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.model.queue import ClusterQueue
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads, sort_admitted
from fairlead.policy.kueue.snapshot.share_order import ShareOrder
from fairlead.policy.kueue.workloads import AdmittedWorkload, Usage


class Snapshot:
    """What a cycle of Kueue's rules looks at."""

    def __init__(
        self,
        tree: QuotaTree,
        parents: Mapping[QueueName, QueueName | None],
        rules: Mapping[QueueName, ClusterQueue],
        admitted: Iterable[AdmittedWorkload],
    ) -> None:
        """Sort *admitted*, whose usage *tree* counts already.

        *parents* has every node of the tree, *rules* its leaves. Cost: sorting the workloads.
        """
        self.local_usage: LocalQueueUsage | None = None  # shared by copies; None: without effect
        self.tree = tree
        self.parents = parents
        self.rules = rules
        self.children: dict[QueueName, list[QueueName]] = {}
        for name, parent in parents.items():
            if parent is not None:
                self.children.setdefault(parent, []).append(name)
        self._paths = {name: self._path(name) for name in parents}
        self.heights = self._heights()
        self.roots = sorted(name for name, parent in parents.items() if parent is None)
        self._shared: set[QueueName] = set()  # whose workloads a copy shares
        self._admitted = _by_queue(rules, admitted)
        self.share_order = ShareOrder(tree, parents, self.children, self._admitted)

    def admitted(self, queue: QueueName) -> AdmittedWorkloads:
        """Return the admitted workloads of a ClusterQueue."""
        return self._admitted[queue]

    def path(self, queue: QueueName) -> list[QueueName]:
        """Return *queue* and its ancestors, upward; not to be changed."""
        return self._paths[queue]

    def _path(self, queue: QueueName) -> list[QueueName]:
        path = [queue]
        while (parent := self.parents[path[-1]]) is not None:
            path.append(parent)
        return path

    def _heights(self) -> dict[QueueName, int]:
        """Return the height of each node: 0 for a ClusterQueue, a cohort above all its children."""
        heights = dict.fromkeys(self.parents, 0)
        for leaf in self.parents:
            for height, name in enumerate(self.path(leaf)):
                heights[name] = max(heights[name], height)
        return heights

    def fits(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether all of *usage* is available to a ClusterQueue."""
        return not self.tree.lacking(queue, usage)

    def lacking(self, queue: QueueName, usage: Usage) -> frozenset[int]:
        """Return the axes on which *usage* is more than is available to a ClusterQueue."""
        return frozenset(self.tree.lacking(queue, usage))

    def covers(self, queue: QueueName, usage: Usage, axes: Container[int]) -> bool:
        """Return whether the quota of a ClusterQueue is enough for *usage* too, on *axes*."""
        tree = self.tree
        for axis, amount in usage:
            if axis in axes and tree.charged_on(queue, axis) + amount > tree.subtree_on(
                queue, axis
            ):
                return False
        return True

    def headroom(self, queue: QueueName, axis: int, *, is_borrowing: bool) -> int | None:
        """Return what its quota leaves, and its borrowing limit if it borrows; None: no limit.

        Negative where more is used than that.
        """
        left = self.tree.subtree_on(queue, axis) - self.tree.charged_on(queue, axis)
        if not is_borrowing:
            return left
        limit = self.tree.borrow_limit_on(queue, axis)
        return None if limit is None else left + limit

    def copy(self) -> "Snapshot":
        """Return the same snapshot, to be changed independently from now on."""
        twin, tree, by_queue = Snapshot.__new__(Snapshot), self.tree.copy(), self._admitted.copy()
        share_order = ShareOrder(tree, self.parents, self.children, by_queue)
        own = {
            "tree": tree,
            "_admitted": by_queue,
            "share_order": share_order,
            "_shared": set(by_queue),
        }
        vars(twin).update(vars(self) | own)
        self._shared.update(by_queue)
        return twin

    def _own(self, queue: QueueName) -> AdmittedWorkloads:
        """Return the workloads of a ClusterQueue, to be changed here and in no copy."""
        workloads = self._admitted[queue]
        if queue in self._shared:
            self._shared.remove(queue)
            workloads = self._admitted[queue] = workloads.copy()
        return workloads

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Add an admitted workload."""
        self._own(admitted.queue).add(admitted)
        self.share_order.changed(admitted.queue)
        self.charge(admitted.queue, admitted.usage)

    def mark_evicted(self, admitted: AdmittedWorkload) -> None:
        """Note that an admitted workload is evicted and still there: now the first candidate."""
        self.replace_admitted(admitted, replace(admitted, is_evicted=True))

    def replace_admitted(self, before: AdmittedWorkload, now: AdmittedWorkload) -> None:
        """Replace an admitted workload by itself as it is *now*, with the same usage."""
        workloads = self._own(now.queue)
        workloads.remove(before)
        workloads.add(now)
        self.share_order.changed(now.queue)

    def evicted(self) -> list[AdmittedWorkload]:
        """Return the evicted workloads that are still there.

        Cost: a look at each queue.
        """
        found = []
        for workloads in self._admitted.values():
            for admitted in workloads.workloads:
                if not admitted.is_evicted:
                    break  # they come first in their queue
                found.append(admitted)
        return found

    def remove(self, admitted: AdmittedWorkload) -> None:
        """Remove an admitted workload."""
        self._own(admitted.queue).remove(admitted)
        self.share_order.changed(admitted.queue)
        self.discharge(admitted.queue, admitted.usage)

    def charge(self, queue: QueueName, usage: Usage) -> None:
        """Count *usage* more at a ClusterQueue. Cost: the depth, for each axis of it."""
        self.tree.charge_axes(queue, usage)

    def discharge(self, queue: QueueName, usage: Usage) -> None:
        """Count *usage* less, exactly undoing `charge`."""
        self.tree.discharge_axes(queue, usage)


def _by_queue(
    queues: Iterable[QueueName], admitted: Iterable[AdmittedWorkload]
) -> dict[QueueName, AdmittedWorkloads]:
    by_queue: dict[QueueName, list[AdmittedWorkload]] = {name: [] for name in queues}
    for each in admitted:
        by_queue[each.queue].append(each)
    return {name: sort_admitted(queued) for name, queued in by_queue.items()}


def without_evicted(snapshot: Snapshot) -> Snapshot:
    """Return a copy of *snapshot* without the evicted workloads."""
    later = snapshot.copy()
    for admitted in snapshot.evicted():
        later.remove(admitted)
    return later
