"""How much others can give way to a claim at most, found without asking anybody.

Most claims of a full cluster come to nothing, and most of these need not be tried. A side of the
tree gives something only as long as it stands as high as the claimant's side, or higher. So all
but the last that it gives is what it has above that; and the last is no more than the largest of
those who may be asked there. Of a queue it is known what it gives in the end, unless the claimant's
side may stand lower by then.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.holder import Claimant
from fairlead.policy.kueue.holder_line import Asking
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.snapshot import Snapshot


class MostFreed(msgspec.Struct, frozen=True, gc=False):
    """What a claim may count on at most, on one axis."""

    amount: int
    ranks: tuple[Rank, ...]  # below which no side gives anything, from its queue up below the root
    may_take: bool  # whether there may be anybody at all to ask
    is_by_line: bool  # whether it may be another amount if others come first in their lines


def most_freed(
    snapshot: Snapshot,
    claimant: Claimant,
    asking: Asking,
    lacking: tuple[int, int],
    first: Strategy,
) -> MostFreed | None:
    """Return what others give way at most to *claimant* beyond its quota, if it is too little.

    None: it may be as much as is *lacking*, on one axis, or there is no telling.

    *snapshot* is at rest, nobody of the claimant's own queue may be asked, and searches begin with
    the *first* strategy. Law: no search makes more room than that. Cost: the depth, and the sides
    that stand as high as the claimant's, until they have enough.
    """
    tree, freed, ranks, usage = snapshot.tree, 0, [], claimant.usage
    axis, enough = lacking
    sides = _Sides(snapshot, asking, axis, first)
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
        for theirs in sides.not_below(ours, cohort, rank):
            if may_fall:
                given = sides.bound(theirs, rank)
            else:
                given = sides.given(theirs, rank, enough - freed)
            if given is None or freed + given >= enough:
                return None
            # Who has nothing of this axis may have some of what else is lacking.
            may_take = may_take or given > 0 or len(asking.need) > 1
            is_by_line = is_by_line or not may_fall
            freed += given
    return MostFreed(freed, tuple(ranks), may_take, is_by_line)


class _Sides:
    """What the sides beside that of one claim give way."""

    def __init__(self, snapshot: Snapshot, asking: Asking, axis: int, first: Strategy) -> None:
        self._snapshot = snapshot
        self._standing = snapshot.standing
        self._asking = asking
        self._axis = axis
        self._looks_after = first == "LessThanOrEqualToFinalShare"

    def not_below(self, ours: QueueName, cohort: QueueName, rank: Rank) -> Iterator[QueueName]:
        """Yield those of *cohort* who may be asked from *ours*, which stands at *rank*."""
        for weighty, share, _, _, theirs in self._standing.below(cohort, self._asking, (ours,)):
            if theirs == ours:
                continue  # as it stood before the claim
            if (not weighty, -share) < rank:
                break
            yield theirs

    def given(self, side: QueueName, rank: Rank, enough: int) -> int | None:
        """Return what *side* gives at most while ours stands at *rank*; None: no idea.

        If it gives *enough* or more, it may be more than is told.
        """
        if side not in self._snapshot.rules:
            return self.bound(side, rank)
        given = None
        if self._looks_after:
            given = self._standing.given(side, self._asking, self._axis, rank, enough)
        if given is None:
            nothing = self._snapshot.tree.rank(side) == rank and self._falls_below(side, rank)
            given = 0 if nothing else self.bound(side, rank)
        return given

    def _falls_below(self, queue: QueueName, rank: Rank) -> bool:
        return self._standing.rank_without_one(queue, queue, self._asking) < rank

    def bound(self, side: QueueName, rank: Rank) -> int | None:
        """Return what *side* gives at most until ours stands at *rank*; None: no idea."""
        largest = self._standing.largest(side, self._asking, self._axis)
        if not largest:
            return 0
        excess = self._snapshot.tree.most_to_lose(side, self._axis, rank)
        return None if excess is None else excess + largest
