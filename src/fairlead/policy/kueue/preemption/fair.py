"""Finds who gives way to a claimant when fair sharing is on.

The claimant counts as running during the whole search. Queue after queue, the largest borrower
first, gives up workloads until the claimant fits: its own queue by importance; any queue if the
claimant stays within its own quota; others only if the claimant's side stays the smaller borrower.
What the first round refused is asked once more under the second strategy, one workload a queue.
If all that fails, the search may begin anew with an option by which importance overrules shares.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.candidates import (
    Candidates,
    asking_by_shares,
    asking_others,
    outranks,
)
from fairlead.policy.kueue.preemption.fair_order import FairOrder, Hopeless, never
from fairlead.policy.kueue.preemption.targets import (
    Choice,
    FailedSearch,
    Sides,
    Target,
    TargetReason,
    compare_sides,
    fill_back,
)
from fairlead.policy.kueue.settings import KueueSettings, Strategy
from fairlead.policy.kueue.snapshot.admitted import Asking
from fairlead.policy.kueue.snapshot.share_order import Entry
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant, Holder, Usage


class FairSearchResult(NamedTuple):
    """Which workloads give way to a preemptor, or how the search for them failed."""

    targets: list[Target]
    failure: FailedSearch | None  # None: it succeeded


def fair_targets(snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> list[Target]:
    """Return which workloads give way so that *claimant* fits; none if it cannot fit."""
    return search_fairly(snapshot, claimant, settings).targets


def search_fairly(
    snapshot: Snapshot, claimant: Claimant, settings: KueueSettings
) -> FairSearchResult:
    """Search for workloads to preempt so that *claimant* fits, in the order of choosing.

    No target can stay if those chosen after it go or stay as they do. *snapshot* is left as it was.
    Cost: grows with the queues searched and the victims taken; a side of the tree that borrows less
    than the claimant's is not looked into.
    """
    snapshot.standing.catch_up()
    snapshot.charge(claimant.queue, claimant.usage)
    search = FairSearch(snapshot, claimant, settings)
    found = search.run()
    if not found and search.may_override():
        search.put_back()
        search = _OverridingSearch(snapshot, claimant, settings)
        found = search.run()
    choices = search.choices
    failure = None if found else search.failure()
    must_go: list[bool] = []
    if found:
        must_go = fill_back(snapshot, [choice.holder for choice in choices], search.fits)
    for choice, is_away in zip(choices, must_go or [True] * len(choices), strict=True):
        if is_away:
            snapshot.charge(choice.holder.queue, choice.holder.usage)
    targets = compare_sides(snapshot, claimant, choices, must_go) if found else []
    snapshot.discharge(claimant.queue, claimant.usage)
    return FairSearchResult(targets, failure)


def fair_room(snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> dict[int, int]:
    """Return what would be available on each axis if all who may be asked gave way.

    As long as their side borrows, and no longer than until *claimant* fits; the shares do not
    count. *snapshot* is left as it was. Cost: as for the targets of a claim within its quota.
    """
    snapshot.standing.catch_up()
    snapshot.charge(claimant.queue, claimant.usage)
    search = FairSearch(snapshot, claimant, settings)
    search.is_owed = True
    search.run()
    tree, queue = snapshot.tree, claimant.queue
    room = {axis: tree.available_on(queue, axis) + amount for axis, amount in claimant.usage}
    search.put_back()
    snapshot.discharge(claimant.queue, claimant.usage)
    return room


class FairSearch:
    """One search; whom it has taken so far is away in the snapshot."""

    def __init__(self, snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> None:
        """Take nobody yet; the claimant is charged in *snapshot*, which is else at rest."""
        self.choices: list[Choice] = []
        self._touched: set[QueueName] = set()  # sides of which somebody was taken
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._claimant = claimant
        self._first, *self._second = settings.strategies
        self._path = snapshot.path(claimant.queue)
        self._below = dict(zip(self._path[1:], self._path, strict=False))
        self._options = settings.options
        gates = dict(settings.feature_gates)
        self.is_owed = gates.get(
            "FairSharingPreemptWithinNominal", True
        ) and not self._tree.borrows_any(claimant.queue, claimant.need)
        # Who is taken makes room, so that nothing else is lacking later.
        available = self._tree.available_on
        self._lacking = [axis for axis, _ in claimant.usage if available(claimant.queue, axis) < 0]
        self._candidates = Candidates(snapshot, claimant, self._asking_others())

    def run(self) -> bool:
        """Take workloads until the claimant fits; tell whether it does."""
        return self._ask_all() or (bool(self._second) and self._ask_again())

    def failure(self) -> FailedSearch:
        """Return how it ended if it found too few, before it is undone."""
        tree, queue = self._tree, self._claimant.queue
        available = [(axis, tree.available_on(queue, axis)) for axis, _ in self._claimant.usage]
        return FailedSearch(
            ranks=tuple([tree.rank(side) for side in self._path[:-1]]),
            lacking=tuple([(axis, -amount) for axis, amount in available if amount < 0]),
            took_any=bool(self.choices),
            is_owed=self.is_owed,
        )

    def may_override(self) -> bool:
        """Tell whether to begin anew, so that importance overrules the shares."""
        rules = self._snapshot.rules[self._claimant.queue].preemption.borrow_within_cohort
        is_on = self._options.priority_override and rules.policy == "LowerPriority"
        return is_on and not self.is_owed and self._claimant.may_share

    def put_back(self) -> None:
        """Let all be there again who were taken."""
        for choice in self.choices:
            self._snapshot.charge(choice.holder.queue, choice.holder.usage)
        self.choices = []

    def fits(self) -> bool:
        """Tell whether the claimant, which is charged already, has room."""
        tree, queue = self._tree, self._claimant.queue
        return min([tree.available_on(queue, axis) for axis in self._lacking], default=0) >= 0

    def _asking_others(self) -> Asking:
        """Return how other queues are asked: options bind only who goes beyond its own quota."""
        if self.is_owed:
            return asking_others(self._snapshot, self._claimant, is_owed=True)
        return asking_by_shares(self._snapshot, self._claimant, self._options)

    def _ask_all(self) -> bool:
        order = FairOrder(self._snapshot, self._path, self._candidates.of, self._standing)
        hopeless = never if self.is_owed else self._hopeless_at_first()
        while (queue := order.next(hopeless)) is not None:
            if queue == self._claimant.queue:
                self._take(order.line(queue).pop(), "InClusterQueue")
            elif self.is_owed:
                self._take(order.line(queue).pop(), "InCohortReclamation")
            elif not self._take_fairly(order, queue, self._sides(queue, self._first)):
                order.drop(queue)
                continue
            if self.fits():
                return True
            order.refresh(queue)
        return False

    def _standing(self, cohort: QueueName, besides: Collection[QueueName]) -> Sequence[Entry]:
        """Return the order at rest below *cohort*; those *besides* are not at rest."""
        return self._snapshot.standing.below(cohort, self._candidates.asking_others, besides)

    def _ask_again(self) -> bool:
        """Let each queue lose one more, on what the first round left.

        Who is left in a queue that may still be asked was refused in the first round: a queue that
        it never asked borrows nothing, or lies below a cohort that borrows nothing, and so it is
        passed over again.
        """
        gone = {choice.holder.name for choice in self.choices}

        def refused(queue: QueueName) -> list[Holder]:
            return [each for each in self._candidates.of(queue) if each.name not in gone]

        (strategy,) = self._second
        # Where nobody was taken, all stand as they stood before the first round.
        losing = {choice.holder.queue for choice in self.choices}
        moved = {name for queue in losing for name in self._snapshot.path(queue)}
        order = FairOrder(self._snapshot, self._path, refused, self._standing, moved)
        hopeless = self._hopeless(strategy)
        while (queue := order.next(hopeless)) is not None:
            sides = self._sides(queue, strategy)
            self._take(order.line(queue)[-1], "InCohortFairSharing", sides)
            if self.fits():
                return True
            order.drop(queue)
            order.refresh(queue)
        return False

    def _hopeless_at_first(self) -> Hopeless:
        return self._hopeless(self._first)

    def _hopeless(self, strategy: Strategy) -> Hopeless:
        """Return the test that rules out a whole side under *strategy*.

        A side only falls in rank when a workload leaves it. So what borrows less than the
        claimant's side before a workload leaves does not reach it afterwards.
        """
        rank = self._tree.rank
        if strategy == "LessThanInitialShare":
            return lambda ours, theirs: rank(ours) >= rank(theirs)
        return lambda ours, theirs: rank(ours) > rank(theirs)

    def _sides(self, queue: QueueName, strategy: Strategy) -> Sides:
        """Return the two children of the lowest cohort above the claimant and *queue*."""
        parents = self._snapshot.parents
        theirs, cohort = queue, parents[queue]
        while cohort not in self._below:
            assert cohort is not None, f"{queue} is in another tree"
            theirs, cohort = cohort, parents[cohort]
        return Sides(self._below[cohort], theirs, strategy)

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        """Take the first whom the strategy allows; those before it are refused and leave the line.

        A side that is asked passed the test for hopeless ones, which is all that comparing with
        the share before asks for. Comparing with the share after looks at each; equal usages of one
        queue come to the same, so one look does for them.
        """
        tree = self._tree
        if sides.strategy == "LessThanInitialShare":
            self._take(order.line(queue).pop(), "InCohortFairSharing", sides)
            return True
        ours = tree.rank(sides.claimant)
        if sides.holder not in self._touched:
            standing, asking = self._snapshot.standing, self._candidates.asking_others
            if ours > standing.rank_without_one(sides.holder, queue, asking):
                return False
        line = order.line(queue)
        refused: set[Usage] = set()
        while line:
            holder = line.pop()
            if holder.usage in refused:
                continue
            if ours <= tree.rank_without(sides.holder, queue, holder.usage):
                self._touched.add(sides.holder)
                self._take(holder, "InCohortFairSharing", sides)
                return True
            refused.add(holder.usage)
        return False

    def _take(self, holder: Holder, reason: TargetReason, sides: Sides | None = None) -> None:
        self.choices.append(Choice(holder, reason, sides))
        self._snapshot.discharge(holder.queue, holder.usage)


class _OverridingSearch(FairSearch):
    """A search in which those who are outranked give way whatever the shares are.

    No side is hopeless in its first round, since importance is looked at holder by holder. Whom the
    shares let go is still taken for their sake.
    """

    def __init__(self, snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> None:
        super().__init__(snapshot, claimant, settings)
        self._rules = snapshot.rules[claimant.queue].preemption.borrow_within_cohort

    def _hopeless_at_first(self) -> Hopeless:
        return never

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        line = order.line(queue)
        is_hopeless = self._hopeless(sides.strategy)(sides.claimant, sides.holder)
        while line:
            holder = line.pop()
            if not is_hopeless and self._shares_allow(holder, sides):
                self._take(holder, "InCohortFairSharing", sides)
                return True
            if outranks(self._rules, self._claimant, holder):
                self._take(holder, "InCohortReclaimWhileBorrowing")
                return True
        return False

    def _shares_allow(self, holder: Holder, sides: Sides) -> bool:
        """Tell whether the strategy lets *holder* go, of a side that is not hopeless."""
        if sides.strategy == "LessThanInitialShare":
            return True
        tree = self._tree
        after = tree.rank_without(sides.holder, holder.queue, holder.usage)
        return tree.rank(sides.claimant) <= after
