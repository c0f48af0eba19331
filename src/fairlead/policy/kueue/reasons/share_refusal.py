"""Which shares stopped a claim that fair sharing refused.

The search itself keeps no account of refusals, since most are many and of no interest. Here it runs
once more, watched, for one claim that found no targets.
"""

from typing import NamedTuple

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Comparison, Term
from fairlead.policy.kueue.preemption.compare_sides import Sides
from fairlead.policy.kueue.preemption.fair import FairSearch
from fairlead.policy.kueue.preemption.fair_order import FairOrder, Hopeless
from fairlead.policy.kueue.settings import KueueSettings, Strategy
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant, Holder


class ShareRefusal(NamedTuple):
    """The side that need not give way, who would have gone first, and the shares of both sides."""

    side: QueueName
    holder: WorkloadName | None  # None: the side as a whole borrows too little
    comparison: Comparison


def first_refusal(
    snapshot: Snapshot, claimant: Claimant, settings: KueueSettings
) -> ShareRefusal | None:
    """Return what the shares refused first in the last round that refused something.

    The comparison holds at that moment of the search, with earlier victims away. None: nothing was
    refused for the sake of shares. *snapshot* is left as it was. Cost: that of a search.
    """
    snapshot.standing.catch_up()
    snapshot.charge(claimant.queue, claimant.usage)
    search = _WatchedSearch(snapshot, claimant, settings)
    search.run()
    search.put_back()
    snapshot.discharge(claimant.queue, claimant.usage)
    for strategy in reversed(settings.strategies):
        if strategy in search.refusals:
            return search.refusals[strategy]
    return None


class _WatchedSearch(FairSearch):
    """A search that notes the first refusal under each strategy: a round has one of its own."""

    def __init__(self, snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> None:
        super().__init__(snapshot, claimant, settings)
        self.refusals: dict[Strategy, ShareRefusal] = {}

    def _hopeless(self, strategy: Strategy) -> Hopeless:
        is_hopeless = super()._hopeless(strategy)

        def watched(ours: QueueName, theirs: QueueName) -> bool:
            if not is_hopeless(ours, theirs):
                return False
            self._note(Sides(ours, theirs, strategy), None)
            return True

        return watched

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        """Look at the first in line: if any of the line is refused in this turn, it is."""
        first, tree = order.line(queue)[-1], self._tree
        if sides.strategy == "LessThanOrEqualToFinalShare":
            after = tree.rank_without(sides.holder, queue, first.usage)
            if tree.rank(sides.claimant) > after:
                self._note(sides, first)
        return super()._take_fairly(order, queue, sides)

    def _note(self, sides: Sides, holder: Holder | None) -> None:
        if sides.strategy not in self.refusals:
            name = None if holder is None else holder.name
            comparison = self._compare(sides, holder)
            self.refusals[sides.strategy] = ShareRefusal(sides.holder, name, comparison)

    def _compare(self, sides: Sides, holder: Holder | None) -> Comparison:
        """Compare the shares; of two without weight, which are infinite, what they stand for."""
        snapshot, tree = self._snapshot, self._tree
        ours = tree.dominant_share(sides.claimant)
        if holder is not None:
            snapshot.discharge(holder.queue, holder.usage)
        theirs = tree.dominant_share(sides.holder)
        if holder is not None:
            snapshot.charge(holder.queue, holder.usage)
        (ours_weightless, left), (theirs_weightless, right) = ours.rank, theirs.rank
        both = ours_weightless and theirs_weightless
        what = "share without weight" if both else "share"
        return Comparison(
            queue=sides.holder,
            axis=None,
            left=(Term(f"later {what}", left if both else ours.share, sides.claimant),),
            relation=">=" if sides.strategy == "LessThanInitialShare" else ">",
            right=Term(
                what if holder is None else f"later {what}",
                right if both else theirs.share,
                sides.holder,
            ),
        )
