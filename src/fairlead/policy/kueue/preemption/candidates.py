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
from fairlead.policy.kueue.snapshot.admitted import CandidateFilter
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor

Policy: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"]


def allows(policy: Policy, preemptor: Preemptor, admitted: AdmittedWorkload) -> bool:
    """Tell whether the importance and the age of the two let *claimant* displace *holder*."""
    match policy:
        case "Any":
            return True
        case "LowerPriority":
            return admitted.priority < preemptor.priority
        case "LowerOrNewerEqualPriority":
            if admitted.priority == preemptor.priority:
                return preemptor.queued_ms < admitted.queued_ms
            return admitted.priority < preemptor.priority
        case "Never":
            return False


def outranks(rules: BorrowWithinCohort, preemptor: Preemptor, admitted: AdmittedWorkload) -> bool:
    """Tell whether *claimant* is so important that it may borrow at the expense of *holder*."""
    threshold = rules.max_priority_threshold
    return (
        rules.policy == "LowerPriority"
        and admitted.priority < preemptor.priority
        and (threshold is None or admitted.priority <= threshold)
    )


def cohort_filter(
    snapshot: Snapshot,
    preemptor: Preemptor,
    *,
    within_nominal: bool,
    unprotected_only: bool = False,
) -> CandidateFilter:
    """Return in which way *claimant* asks other ClusterQueues than its own.

    Whom it must spare depends on whether it stays within its own quota (*is_owed*).
    """
    policy = snapshot.rules[preemptor.queue].preemption.reclaim_within_cohort
    priority = preemptor.priority if policy == "LowerPriority" else 0
    spared = preemptor.spared_within_nominal if within_nominal else preemptor.spared
    return CandidateFilter(policy, priority, preemptor.need, spared, unprotected_only)


def fair_sharing_filter(
    snapshot: Snapshot, preemptor: Preemptor, options: KueueOptions
) -> CandidateFilter:
    """Return in which way *claimant* asks others beyond its own quota, where options bind it.

    Without a minimum run time nobody counts as protected, so that all claims ask alike.
    """
    spares_new = options.min_run_time_ms > 0
    candidate_filter = cohort_filter(
        snapshot, preemptor, within_nominal=False, unprotected_only=spares_new
    )
    return (
        candidate_filter
        if preemptor.may_use_fair_sharing
        else replace(candidate_filter, policy="Never", priority=0)
    )


def _filter(
    policy: Literal["Never", "LowerPriority", "Any"], preemptor: Preemptor
) -> CandidateFilter:
    return CandidateFilter(
        policy, preemptor.priority if policy == "LowerPriority" else 0, preemptor.need
    )


def candidates_within(snapshot: Snapshot, preemptor: Preemptor) -> list[AdmittedWorkload]:
    """Return who of its own queue may be asked by *claimant*, in their line; not to be changed."""
    line = snapshot.admitted(preemptor.queue)
    policy = snapshot.rules[preemptor.queue].preemption.within_cluster_queue
    if policy == "LowerOrNewerEqualPriority":  # age differs from claim to claim
        anybody = line.matching(_filter("Any", preemptor)).workloads
        return [admitted for admitted in anybody if allows(policy, preemptor, admitted)]
    return line.matching(_filter(policy, preemptor)).workloads


class Candidates:
    """Whom a claimant may ask, queue by queue, found when a queue is first asked about.

    The answer for a queue is that of the first time, so the first time must come before anything
    is taken from that queue. What happens in other queues does not change it.
    """

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, others: CandidateFilter) -> None:
        """Look at nobody yet; *others* is how queues other than the claimant's are asked."""
        self._snapshot = snapshot
        self._claimant = preemptor
        self._lines: dict[QueueName, list[AdmittedWorkload]] = {}
        self.cohort_filter = others

    def of(self, queue: QueueName) -> list[AdmittedWorkload]:
        """Return who of *queue* may be asked, in the order of giving way; not to be changed.

        Another queue than the claimant's must borrow what the claimant needs. Cost: the holders of
        the queue, unless others asked in the same way before.
        """
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._find(queue)
        return line

    def _find(self, queue: QueueName) -> list[AdmittedWorkload]:
        preemptor, snapshot = self._claimant, self._snapshot
        if queue != preemptor.queue:
            if not snapshot.tree.borrows_any(queue, preemptor.need):
                return []
            return snapshot.admitted(queue).matching(self.cohort_filter).workloads
        return self._by_use(candidates_within(snapshot, preemptor))

    def _by_use(self, own: list[AdmittedWorkload]) -> list[AdmittedWorkload]:
        """Return those of the claimant's queue with those first whose LocalQueue used more.

        Only where that orders its line, and after those who are leaving already.
        """
        local_usage = self._snapshot.local_usage
        if local_usage is None or not local_usage.order(self._claimant.queue):
            return own

        def place(admitted: AdmittedWorkload) -> tuple[bool, bool, Fraction]:
            is_endless, use = local_usage.rank(admitted.name)
            return not admitted.is_evicted, not is_endless, -use

        return sorted(own, key=place)
