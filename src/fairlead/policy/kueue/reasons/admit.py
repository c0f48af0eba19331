"""By what right a workload gets quota: that of its own queue, or on what others leave unused."""

from typing import Final

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.policy.kueue.workloads import Usage

WITHIN_QUOTA: Final = "WithinQuota"
OVER_QUOTA: Final = "OverQuota"


def admit_reason(tree: QuotaTree, axes: QuotaAxes, queue: QueueName, usage: Usage) -> Reason:
    """Return by what right *usage* is charged to *queue*; *tree* does not count it yet.

    Where it borrows, it is also told what is available, and where in the tree that ends: less than
    is asked for, if others have to leave first. Cost: O(depth^2) for each axis that is borrowed.
    """
    within: list[Comparison] = []
    over: list[Comparison] = []
    for number, amount in usage:
        held, quota = tree.charged_on(queue, number), tree.subtree_on(queue, number)
        is_over = held + amount > quota
        compared = Comparison(
            queue=queue,
            axis=axes.axes[number],
            left=(Term("allocated", held), Term("request", amount)),
            relation=">" if is_over else "<=",
            right=Term("quota", quota),
        )
        if is_over:
            over += [compared, _against_available(tree, axes, queue, number, amount)]
        else:
            within.append(compared)
    code = OVER_QUOTA if over else WITHIN_QUOTA
    return Reason(code=code, queue=queue, comparisons=tuple(over or within))


def _against_available(
    tree: QuotaTree, axes: QuotaAxes, queue: QueueName, number: int, amount: int
) -> Comparison:
    available = max(0, tree.available_on(queue, number))
    return Comparison(
        queue=QueueName(tree.ends_at(queue, number)),
        axis=axes.axes[number],
        left=(Term("request", amount),),
        relation="<=" if amount <= available else ">",
        right=Term("available", available),
    )
