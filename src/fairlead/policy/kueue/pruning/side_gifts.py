"""What the sides beside that of a claim give way, side by side, found without a search of all."""

from collections.abc import Iterator

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.pruning.cohort_gift import CohortGift
from fairlead.policy.kueue.pruning.most_given import most_given
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.snapshot.admitted import Asking
from fairlead.policy.kueue.snapshot.snapshot import Snapshot


class SideGifts:
    """The gifts to one who asks in one way, of one axis, in a snapshot at rest."""

    def __init__(
        self, snapshot: Snapshot, asking: Asking, axis: int, first: Strategy, *, searches: bool
    ) -> None:
        """Know nothing yet; searches begin with the *first* strategy.

        If it *searches*, what a cohort gives is found by a search of it, else there is a bound.
        """
        self.snapshot = snapshot
        self.axis = axis
        self.has_searched_all = True  # whether there was no cohort of which a bound was told
        self._standing = snapshot.standing
        self._asking = asking
        self._looks_after = first == "LessThanOrEqualToFinalShare"
        self._searches = searches

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
        if not self._looks_after or rank == LEAST_RANK:
            return self._unless_it_falls(side, rank)
        if side not in self.snapshot.rules and not self._searches:
            self.has_searched_all = False
            return self.bound(side, rank)
        known, key = self._standing.gifts(side), (self._asking, self.axis, rank)
        if key not in known:
            given = self._find(side, rank, enough)
            if given is not None and given >= enough:
                return given
            known[key] = given
        given = known[key]
        return self._unless_it_falls(side, rank) if given is None else given

    def _find(self, side: QueueName, rank: Rank, enough: int) -> int | None:
        snapshot, asking, axis = self.snapshot, self._asking, self.axis
        if side not in snapshot.rules:
            return CohortGift(snapshot, side, asking, rank).amount(axis, enough)
        asked = snapshot.line(side).whom(asking)
        return most_given(snapshot.tree, side, asked, axis, rank, enough)

    def _unless_it_falls(self, side: QueueName, rank: Rank) -> int | None:
        """Return the bound; 0 if a queue stands as high as *rank* and would fall below it."""
        if side in self.snapshot.rules and self.snapshot.tree.rank(side) == rank:
            highest = self._standing.rank_without_one(side, side, self._asking)
            if highest < rank:
                return 0
        return self.bound(side, rank)

    def bound(self, side: QueueName, rank: Rank) -> int | None:
        """Return what *side* gives at most until ours stands at *rank*; None: no idea."""
        largest = self._standing.largest(side, self._asking, self.axis)
        if not largest:
            return 0
        excess = self.snapshot.tree.most_to_lose(side, self.axis, rank)
        return None if excess is None else excess + largest
