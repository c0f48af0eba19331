"""Whom a claimant may ask to give way, as the rules of its own ClusterQueue say.

The rules of the queue that would lose a workload do not count. Who may be asked is not yet who is
asked: that is what the searches find out.
"""

from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.model.queue import BorrowWithinCohort
from fairlead.policy.kueue.settings import KueueOptions
from fairlead.policy.kueue.snapshot.admitted import Asking
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant, Holder

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


def outranks(rules: BorrowWithinCohort, claimant: Claimant, holder: Holder) -> bool:
    """Tell whether *claimant* is so important that it may borrow at the expense of *holder*."""
    threshold = rules.max_priority_threshold
    return (
        rules.policy == "LowerPriority"
        and holder.priority < claimant.priority
        and (threshold is None or holder.priority <= threshold)
    )


def asking_others(
    snapshot: Snapshot, claimant: Claimant, *, is_owed: bool, unprotected_only: bool = False
) -> Asking:
    """Return in which way *claimant* asks other ClusterQueues than its own.

    Whom it must spare depends on whether it stays within its own quota (*is_owed*).
    """
    policy = snapshot.rules[claimant.queue].preemption.reclaim_within_cohort
    priority = claimant.priority if policy == "LowerPriority" else 0
    spared = claimant.spared_if_owed if is_owed else claimant.spared
    return Asking(policy, priority, claimant.need, spared, unprotected_only)


def asking_by_shares(snapshot: Snapshot, claimant: Claimant, options: KueueOptions) -> Asking:
    """Return in which way *claimant* asks others beyond its own quota, where options bind it.

    Without a minimum run time nobody counts as protected, so that all claims ask alike.
    """
    spares_new = options.min_run_time_ms > 0
    asking = asking_others(snapshot, claimant, is_owed=False, unprotected_only=spares_new)
    return asking if claimant.may_share else replace(asking, policy="Never", priority=0)


def _asking(policy: Literal["Never", "LowerPriority", "Any"], claimant: Claimant) -> Asking:
    return Asking(policy, claimant.priority if policy == "LowerPriority" else 0, claimant.need)


def asked_within(snapshot: Snapshot, claimant: Claimant) -> list[Holder]:
    """Return who of its own queue may be asked by *claimant*, in their line; not to be changed."""
    line = snapshot.line(claimant.queue)
    policy = snapshot.rules[claimant.queue].preemption.within_cluster_queue
    if policy == "LowerOrNewerEqualPriority":  # age differs from claim to claim
        anybody = line.whom(_asking("Any", claimant)).holders
        return [holder for holder in anybody if allows(policy, claimant, holder)]
    return line.whom(_asking(policy, claimant)).holders


class Candidates:
    """Whom a claimant may ask, queue by queue, found when a queue is first asked about.

    The answer for a queue is that of the first time, so the first time must come before anything
    is taken from that queue. What happens in other queues does not change it.
    """

    def __init__(self, snapshot: Snapshot, claimant: Claimant, others: Asking) -> None:
        """Look at nobody yet; *others* is how queues other than the claimant's are asked."""
        self._snapshot = snapshot
        self._claimant = claimant
        self._lines: dict[QueueName, list[Holder]] = {}
        self.asking_others = others

    def of(self, queue: QueueName) -> list[Holder]:
        """Return who of *queue* may be asked, in the order of giving way; not to be changed.

        Another queue than the claimant's must borrow what the claimant needs. Cost: the holders of
        the queue, unless others asked in the same way before.
        """
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._find(queue)
        return line

    def _find(self, queue: QueueName) -> list[Holder]:
        claimant, snapshot = self._claimant, self._snapshot
        if queue != claimant.queue:
            if not snapshot.tree.borrows_any(queue, claimant.need):
                return []
            return snapshot.line(queue).whom(self.asking_others).holders
        return self._by_use(asked_within(snapshot, claimant))

    def _by_use(self, own: list[Holder]) -> list[Holder]:
        """Return those of the claimant's queue with those first whose LocalQueue used more.

        Only where that orders its line, and after those who are leaving already.
        """
        uses = self._snapshot.uses
        if uses is None or not uses.order(self._claimant.queue):
            return own

        def place(holder: Holder) -> tuple[bool, bool, Fraction]:
            is_endless, use = uses.rank(holder.name)
            return not holder.is_evicted, not is_endless, -use

        return sorted(own, key=place)
