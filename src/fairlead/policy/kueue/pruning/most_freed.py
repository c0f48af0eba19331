"""How much others can give way to a claim at most, found without asking anybody.

Most claims of a full cluster come to nothing, and most of these need not be tried. A side of the
tree gives something only as long as it stands as high as the claimant's side, or higher. So all
but the last that it gives is what it has above that; and the last is no more than the largest of
those who may be asked there. Of most sides it can be known what they give in the end, unless the
claimant's side may stand lower by then.
"""

from itertools import pairwise

import msgspec

from fairlead.fairness.dominant_share import Rank
from fairlead.policy.kueue.pruning.side_gifts import SideGifts
from fairlead.policy.kueue.workloads import Claimant


class MostFreed(msgspec.Struct, frozen=True, gc=False):
    """What a claim may count on at most, on one axis."""

    amount: int
    ranks: tuple[Rank, ...]  # below which no side gives anything, from its queue up below the root
    may_take: bool  # whether there may be anybody at all to ask
    is_by_line: bool  # whether it may be another amount if others come first in their lines


def most_freed(claimant: Claimant, gifts: SideGifts, enough: int) -> MostFreed | None:
    """Return what others give way at most to *claimant* beyond its quota, if it is not *enough*.

    None: it may be, or there is no telling. The snapshot is at rest, and nobody of the claimant's
    own queue may be asked. Law: no search makes more room than that. Cost: the depth, and the sides
    that stand as high as the claimant's, until they have enough.
    """
    snapshot, axis = gifts.snapshot, gifts.axis
    tree, freed, ranks, usage = snapshot.tree, 0, [], claimant.usage
    may_take = is_by_line = False
    for ours, cohort in pairwise(snapshot.path(claimant.queue)):
        prospect = tree.prospect(ours, usage)
        rank = prospect.rank
        # What leaves below our side makes it stand lower, so that it may ask more of others.
        may_fall = may_take
        if may_fall:
            rank = tree.rank_by(ours, axis, freed - dict(usage)[axis])
        usage = prospect.noticed
        ranks.append(rank)
        for theirs in gifts.not_below(ours, cohort, rank):
            if may_fall:
                given = gifts.bound(theirs, rank)
            else:
                given = gifts.given(theirs, rank, enough - freed)
            if given is None or freed + given >= enough:
                return None
            # Who has nothing of this axis may have some of what else is lacking.
            may_take = may_take or given > 0 or len(claimant.need) > 1
            is_by_line = is_by_line or not may_fall
            freed += given
    return MostFreed(freed, tuple(ranks), may_take, is_by_line)
