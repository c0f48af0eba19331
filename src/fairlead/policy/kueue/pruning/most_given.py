"""How much one queue gives way to a claim, found without asking anybody there.

While a search goes on a queue beside the claimant's is asked for itself: what others give does not
change where it stands, nor does the claimant's side move as long as nobody of it leaves. So what
the queue gives in the end is told by its own line and by the rank that it must not fall below.
"""

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.snapshot.admitted import Asked

_MOST_STEPS = 4  # by which the most to lose may be too much, before it is not worth while


def most_given(
    tree: QuotaTree, queue: QueueName, asked: Asked, axis: int, rank: Rank, enough: int
) -> int | None:
    """Return what *queue* gives of *axis* to a side that stands at *rank*; None: no telling.

    If it gives *enough* or more, just how much is not found out.

    First those leave, in their line, without whom it stands there still, or above; and if it stands
    above it then, one more: as a search finds that compares with the share after, then with the one
    before. It stands as high at first, and no less of the line is *asked*. Cost: the part of the
    line that leaves or is too large.
    """
    excess = None if rank == LEAST_RANK else _excess(tree, queue, axis, rank)
    if excess is None:
        return None
    amounts = {usage: dict(usage).get(axis, 0) for usage in asked.usages}
    least = min(amounts.values(), default=0)
    left, too_large = excess, None
    for holder in asked.holders:
        amount = amounts[holder.usage]
        if amount <= left:
            left -= amount
            if excess - left >= enough:
                break
        elif too_large is None:
            too_large = amount
        if left < least and too_large is not None:
            break
    given = excess - left
    if too_large is not None and tree.rank_without(queue, queue, ((axis, given),)) > rank:
        given += too_large
    return given


def _excess(tree: QuotaTree, queue: QueueName, axis: int, rank: Rank) -> int | None:
    """Return how much less of *axis* a queue can use at most and still stand at *rank*."""
    excess = tree.most_to_lose(queue, axis, rank)
    if excess is None:
        return None
    for less in range(excess, max(0, excess - _MOST_STEPS), -1):
        if tree.rank_without(queue, queue, ((axis, less),)) >= rank:
            return less
    return 0 if excess <= _MOST_STEPS else None
