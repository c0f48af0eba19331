"""Whom a claimant may ask to give way, as the rules of its own ClusterQueue say.

The rules of the queue that would lose a workload do not count. Who may be asked is not yet who is
asked: that is what the searches find out.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.holder import Claimant, Holder, Usage
from fairlead.policy.kueue.snapshot import Snapshot

Policy: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"]


def allows(policy: Policy, claimant: Claimant, holder: Holder) -> bool:
    """Tell whether the importance and the age of the two let *claimant* displace *holder*."""
    match policy:
        case "Any":
            return True
        case "LowerPriority":
            return holder.priority < claimant.priority
        case "LowerOrNewerEqualPriority":
            if holder.priority == claimant.priority:
                return claimant.queued_ms < holder.queued_ms
            return holder.priority < claimant.priority
        case "Never":
            return False


def borrows_any(tree: QuotaTree, name: QueueName, axes: Iterable[int]) -> bool:
    """Tell whether a node uses more than its quota on one of *axes*."""
    return any(tree.charged_on(name, axis) > tree.subtree_on(name, axis) for axis in axes)


class Candidates:
    """Whom a claimant may ask, queue by queue, found when a queue is first asked about.

    The answer for a queue is that of the first time, so the first time must come before anything
    is taken from that queue. What happens in other queues does not change it.
    """

    def __init__(self, snapshot: Snapshot, claimant: Claimant) -> None:
        """Look at nobody yet."""
        self._snapshot = snapshot
        self._claimant = claimant
        self._lines: dict[QueueName, list[Holder]] = {}
        self._uses_need: dict[Usage, bool] = {}

    def of(self, queue: QueueName) -> list[Holder]:
        """Return who of *queue* may be asked, in the order of giving way.

        Another queue than the claimant's must borrow what the claimant needs. Cost: the holders of
        the queue, once.
        """
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._find(queue)
        return line

    def _find(self, queue: QueueName) -> list[Holder]:
        claimant, snapshot = self._claimant, self._snapshot
        rules = snapshot.rules[claimant.queue].preemption
        policy: Policy = rules.within_cluster_queue
        if queue != claimant.queue:
            policy = rules.reclaim_within_cohort
            if not borrows_any(snapshot.tree, queue, claimant.need):
                return []
        if policy == "Never":
            return []
        line: Iterable[Holder] = snapshot.holders(queue)
        if policy != "Any":
            line = [holder for holder in line if allows(policy, claimant, holder)]
        return [holder for holder in line if self._helps(holder.usage)]

    def _helps(self, usage: Usage) -> bool:
        """Tell whether who uses this has something of what the claimant needs."""
        helps = self._uses_need.get(usage)
        if helps is None:
            need = self._claimant.need
            helps = self._uses_need[usage] = any(axis in need for axis, _ in usage)
        return helps
