"""Why an admitted workload gives way: the numbers behind each rule that took it."""

from typing import Final

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QuotaAxes
from fairlead.model.plan import Comparison, Reason, SideShare, Term
from fairlead.model.queue import ClusterQueue
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.preemption.targets import ShareComparison, Target
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload

IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"


def evict_reason(
    tree: QuotaTree, axes: QuotaAxes, rules: ClusterQueue, nomination: Nomination, target: Target
) -> Reason:
    """Return why *target* gives way to the workload of *nomination*.

    In *tree* no victim has left yet, and the workload has nothing; earlier turns count. *rules* are
    those of its queue.
    """
    match target.reason:
        case "InClusterQueue":
            return _in_cluster_queue(nomination.pending, target.workload)
        case "InCohortReclamation":
            return _in_cohort_reclamation(tree, axes, nomination, target.workload)
        case "InCohortFairSharing":
            assert target.compared is not None, "shares decided"
            return _in_cohort_fair_sharing(target.compared)
        case "InCohortReclaimWhileBorrowing":
            return _in_cohort_reclaim_while_borrowing(rules, nomination.pending, target.workload)


def _in_cluster_queue(pending: PendingWorkload, admitted: AdmittedWorkload) -> Reason:
    compared = _priorities(pending, admitted)
    if pending.priority == admitted.priority:
        compared = Comparison(
            queue=admitted.queue,
            axis=None,
            left=(Term("queued at", pending.queued_ms),),
            relation="<",
            right=Term("queued at", admitted.queued_ms),
        )
    return Reason(code=IN_CLUSTER_QUEUE, queue=admitted.queue, comparisons=(compared,))


def _in_cohort_reclamation(
    tree: QuotaTree, axes: QuotaAxes, nomination: Nomination, admitted: AdmittedWorkload
) -> Reason:
    """Return on which of the axes that lack the queue of *admitted* borrows."""
    assert nomination.assignment is not None, "a preemptor has flavors"
    queue = admitted.queue
    compared = [
        Comparison(
            queue=queue,
            axis=axes.axes[number],
            left=(Term("allocated", tree.charged_on(queue, number)),),
            relation=">",
            right=Term("quota", tree.subtree_on(queue, number)),
        )
        for number in sorted(nomination.assignment.need)
        if tree.borrows_any(queue, (number,))
    ]
    return Reason(code=IN_COHORT_RECLAMATION, queue=queue, comparisons=tuple(compared))


def _in_cohort_fair_sharing(compared: ShareComparison) -> Reason:
    """Return both sides, and what the strategy compared.

    Borrowers of weight 0 have infinite shares and are compared by what they have before weights.
    """
    is_final = compared.strategy == "LessThanOrEqualToFinalShare"
    ours = compared.preemptor_after
    theirs = compared.target_after if is_final else compared.target_before
    has_no_weight, left = ours.rank
    of_theirs, right = theirs.rank
    both = has_no_weight and of_theirs
    what = "share without weight" if both else "share"
    shares = (
        SideShare(
            queue=compared.preemptor_side,
            before=compared.preemptor_before.share,
            after=ours.share,
        ),
        SideShare(
            queue=compared.target_side,
            before=compared.target_before.share,
            after=compared.target_after.share,
        ),
    )
    comparison = Comparison(
        queue=compared.target_side,
        axis=None,
        left=(Term(f"later {what}", left if both else ours.share, compared.preemptor_side),),
        relation="<=" if is_final else "<",
        right=Term(
            f"later {what}" if is_final else what,
            right if both else theirs.share,
            compared.target_side,
        ),
    )
    return Reason(
        code=IN_COHORT_FAIR_SHARING,
        queue=compared.target_side,
        comparisons=(comparison,),
        shares=shares,
    )


def _in_cohort_reclaim_while_borrowing(
    rules: ClusterQueue, pending: PendingWorkload, admitted: AdmittedWorkload
) -> Reason:
    compared = [_priorities(pending, admitted)]
    borrowing = rules.preemption.borrow_within_cohort
    if borrowing.max_priority_threshold is not None:
        compared.append(
            Comparison(
                queue=pending.queue,
                axis=None,
                left=(Term("priority", admitted.priority, admitted.queue),),
                relation="<=",
                right=Term("maxPriorityThreshold", borrowing.max_priority_threshold, pending.queue),
            )
        )
    return Reason(
        code=IN_COHORT_RECLAIM_WHILE_BORROWING, queue=admitted.queue, comparisons=tuple(compared)
    )


def _priorities(pending: PendingWorkload, admitted: AdmittedWorkload) -> Comparison:
    return Comparison(
        queue=admitted.queue,
        axis=None,
        left=(Term("priority", pending.priority),),
        relation=">",
        right=Term("priority", admitted.priority),
    )
