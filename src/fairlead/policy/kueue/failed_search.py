"""How far a fair search got that found too few who give way."""

from typing import NamedTuple

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.fair_search import FairSearch
from fairlead.policy.kueue.holder import Claimant
from fairlead.policy.kueue.snapshot import Snapshot


class FailedSearch(NamedTuple):
    """What must change, or else the same claim fails again.

    Ranks only fall while workloads are taken, so a side that stands below ``ranks`` was never asked
    and will not be. The search goes on until there is room: with as much more of it as ``lacking``
    says it would have succeeded.
    """

    ranks: tuple[Rank, ...]  # of the claimant's side, from its queue up to below the root
    lacking: tuple[tuple[int, int], ...]  # by axis, in the end
    took_any: bool
    is_owed: bool  # within its own quota: shares do not count


def failed_search(snapshot: Snapshot, claimant: Claimant, search: FairSearch) -> FailedSearch:
    """Return how a *search* for *claimant* ended that found too few and is not undone yet."""
    tree, queue = snapshot.tree, claimant.queue
    sides: list[QueueName] = snapshot.path(queue)[:-1]
    bound = search.bound
    if bound is not None:
        lacking = -tree.available_on(queue, bound.axis) - bound.amount
        return FailedSearch(bound.ranks, ((bound.axis, lacking),), bound.may_take, is_owed=False)
    available = [(axis, tree.available_on(queue, axis)) for axis, _ in claimant.usage]
    return FailedSearch(
        ranks=tuple([tree.rank(side) for side in sides]),
        lacking=tuple([(axis, -amount) for axis, amount in available if amount < 0]),
        took_any=bool(search.choices),
        is_owed=search.is_owed,
    )
