"""How much others can give way to a claim at most, found without asking anybody.

Most claims of a full cluster come to nothing, and most of these need not be tried. A side of the
tree gives something only as long as it stands as high as the claimant's side, or higher. So all
but the last that it gives is what it has above that; and the last is no more than the largest of
those who may be asked there.
"""

from itertools import pairwise

import msgspec

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.holder import Claimant
from fairlead.policy.kueue.holder_line import Asking
from fairlead.policy.kueue.snapshot import Snapshot


class MostFreed(msgspec.Struct, frozen=True, gc=False):
    """What a claim may count on at most, on one axis."""

    amount: int
    ranks: tuple[Rank, ...]  # below which no side gives anything, from its queue up below the root
    may_take: bool  # whether there may be anybody at all to ask


def most_freed(
    snapshot: Snapshot, claimant: Claimant, asking: Asking, axis: int
) -> MostFreed | None:
    """Return a bound of what others give way to *claimant* beyond its quota; None: no idea.

    *snapshot* is at rest, and nobody of the claimant's own queue may be asked. Law: no search makes
    more room than that. Cost: the depth, and the sides that stand as high as the claimant's.
    """
    tree, standing = snapshot.tree, snapshot.standing
    freed, ranks, may_take, usage = 0, [], False, claimant.usage
    for ours, cohort in pairwise(snapshot.path(claimant.queue)):
        prospect = tree.prospect(ours, usage)
        rank = prospect.rank
        # What leaves below our side makes it stand lower, so that it may ask more of others.
        may_fall = may_take
        if may_fall:
            rank = tree.rank_by(ours, axis, freed - dict(usage)[axis])
        usage = prospect.noticed
        ranks.append(rank)
        for weighty, share, _, _, theirs in standing.below(cohort, asking, (ours,)):
            if theirs == ours:
                continue  # as it stood before the claim
            if (not weighty, -share) < rank:
                break
            if not may_fall and _gives_nothing(snapshot, theirs, asking, rank):
                continue
            largest = standing.largest(theirs, asking, axis)
            if not largest:  # nobody there has any of it, but perhaps of what else is lacking
                may_take |= len(asking.need) > 1
                continue
            excess = tree.most_to_lose(theirs, axis, rank)
            if excess is None:
                return None
            may_take = True
            freed += excess + largest
    return MostFreed(freed, tuple(ranks), may_take)


def _gives_nothing(snapshot: Snapshot, side: QueueName, asking: Asking, rank: Rank) -> bool:
    """Return whether a queue stands as high as *rank*, but no higher, and would fall below it."""
    if side not in snapshot.rules or snapshot.tree.rank(side) != rank:
        return False
    return snapshot.standing.rank_without_one(side, side, asking) < rank
