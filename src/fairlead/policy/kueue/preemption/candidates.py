"""Which workloads a preemptor may preempt, by the rules of its own ClusterQueue.

The rules of the queue that would lose a workload do not count. A candidate is not yet a victim:
that is what the searches find out.
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

PreemptionPolicy: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"]


def allows(policy: PreemptionPolicy, preemptor: Preemptor, admitted: AdmittedWorkload) -> bool:
    """Return whether priority and age of the two let *preemptor* displace *admitted*."""
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
    """Return whether *preemptor* may borrow at the expense of *admitted*, by priority."""
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
    """Return the filter for candidates in other ClusterQueues of the cohort.

    Which workloads are spared depends on whether *preemptor* stays within its nominal quota.
    """
    policy = snapshot.rules[preemptor.queue].preemption.reclaim_within_cohort
    priority = preemptor.priority if policy == "LowerPriority" else 0
    spared = preemptor.spared_within_nominal if within_nominal else preemptor.spared
    return CandidateFilter(policy, priority, preemptor.need, spared, unprotected_only)


def fair_sharing_filter(
    snapshot: Snapshot, preemptor: Preemptor, options: KueueOptions
) -> CandidateFilter:
    """Return the filter for candidates of *preemptor* beyond its nominal quota, with our options.

    Without a minimum run time no workload is protected, so that all preemptors filter alike.
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
    """Return the candidates of *preemptor* in its own queue, in order; not to be changed."""
    own = snapshot.admitted(preemptor.queue)
    policy = snapshot.rules[preemptor.queue].preemption.within_cluster_queue
    if policy == "LowerOrNewerEqualPriority":  # age differs from preemptor to preemptor
        allowed = own.matching(_filter("Any", preemptor)).workloads
        return [admitted for admitted in allowed if allows(policy, preemptor, admitted)]
    return own.matching(_filter(policy, preemptor)).workloads


class Candidates:
    """The candidates of a preemptor, queue by queue, found when a queue is first looked at.

    The answer for a queue is that of the first time, so the first time must come before a workload
    is taken from that queue. What happens in other queues does not change it.
    """

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, others: CandidateFilter) -> None:
        """Look at no queue yet; *others* is the filter for queues other than the preemptor's."""
        self._snapshot = snapshot
        self._preemptor = preemptor
        self._found: dict[QueueName, list[AdmittedWorkload]] = {}
        self.cohort_filter = others

    def of(self, queue: QueueName) -> list[AdmittedWorkload]:
        """Return the candidates of *queue* in the order of eviction; not to be changed.

        Another queue than the preemptor's must borrow what the preemptor needs. Cost: the workloads
        of the queue, unless another preemptor had the same filter before.
        """
        found = self._found.get(queue)
        if found is None:
            found = self._found[queue] = self._find(queue)
        return found

    def _find(self, queue: QueueName) -> list[AdmittedWorkload]:
        preemptor, snapshot = self._preemptor, self._snapshot
        if queue != preemptor.queue:
            if not snapshot.tree.borrows_any(queue, preemptor.need):
                return []
            return snapshot.admitted(queue).matching(self.cohort_filter).workloads
        return self._by_local_queue_usage(candidates_within(snapshot, preemptor))

    def _by_local_queue_usage(self, own: list[AdmittedWorkload]) -> list[AdmittedWorkload]:
        """Return candidates of the preemptor's queue, those of LocalQueues with more usage first.

        Only where that orders its queue, and after workloads that are evicted already.
        """
        local_usage = self._snapshot.local_usage
        if local_usage is None or not local_usage.orders_by_usage(self._preemptor.queue):
            return own

        def place(admitted: AdmittedWorkload) -> tuple[bool, bool, Fraction]:
            is_endless, use = local_usage.rank(admitted.name)
            return not admitted.is_evicted, not is_endless, -use

        return sorted(own, key=place)
