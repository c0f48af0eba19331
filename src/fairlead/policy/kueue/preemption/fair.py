"""Finds the workloads that give way to a preemptor when fair sharing is on.

The preemptor counts as running during the whole search. Queue after queue, the largest borrower
first, gives up workloads until the preemptor fits: its own queue by priority; any queue if the
preemptor stays within its nominal quota; others only if the preemptor's side stays the smaller
borrower. Candidates that the first round refused are tried once more under the second strategy, one
workload a queue. If all that fails, the search may begin anew with an option by which priority
overrules shares.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.candidates import (
    Candidates,
    cohort_filter,
    fair_sharing_filter,
    outranks,
)
from fairlead.policy.kueue.preemption.fair_order import FairOrder, RulesOut, rules_out_none
from fairlead.policy.kueue.preemption.targets import (
    Choice,
    FailedSearch,
    Sides,
    Target,
    TargetReason,
    compare_shares,
    fill_back,
)
from fairlead.policy.kueue.settings import KueueSettings, Strategy
from fairlead.policy.kueue.snapshot.admitted import CandidateFilter
from fairlead.policy.kueue.snapshot.share_order import ShareKey
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor, Usage


class SearchResult(NamedTuple):
    """Which workloads give way to a preemptor, or how the search for them failed."""

    targets: list[Target]
    failure: FailedSearch | None  # None: it succeeded


def fair_targets(snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings) -> list[Target]:
    """Return which workloads give way so that *preemptor* fits; none if it cannot fit."""
    return search_fairly(snapshot, preemptor, settings).targets


def search_fairly(
    snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings
) -> SearchResult:
    """Search for workloads to preempt so that *preemptor* fits, in the order of choosing.

    No target can stay if those chosen after it go or stay as they do. *snapshot* is left as it was.
    Cost: grows with the queues visited and the victims taken; a side of the tree that borrows less
    than the preemptor's is not looked into.
    """
    snapshot.share_order.refresh()
    snapshot.charge(preemptor.queue, preemptor.usage)
    search = FairSearch(snapshot, preemptor, settings)
    found = search.run()
    if not found and search.may_override():
        search.put_back()
        search = _OverridingSearch(snapshot, preemptor, settings)
        found = search.run()
    choices = search.choices
    failure = None if found else search.failure()
    must_go: list[bool] = []
    if found:
        must_go = fill_back(snapshot, [choice.workload for choice in choices], search.fits)
    for choice, is_away in zip(choices, must_go or [True] * len(choices), strict=True):
        if is_away:
            snapshot.charge(choice.workload.queue, choice.workload.usage)
    targets = compare_shares(snapshot, preemptor, choices, must_go) if found else []
    snapshot.discharge(preemptor.queue, preemptor.usage)
    return SearchResult(targets, failure)


def fair_capacity(
    snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings
) -> dict[int, int]:
    """Return what would be available on each axis if all candidates gave way.

    As long as their side borrows, and no longer than until *preemptor* fits; the shares do not
    count. *snapshot* is left as it was. Cost: as for the targets within the nominal quota.
    """
    snapshot.share_order.refresh()
    snapshot.charge(preemptor.queue, preemptor.usage)
    search = FairSearch(snapshot, preemptor, settings)
    search.within_nominal = True
    search.run()
    tree, queue = snapshot.tree, preemptor.queue
    capacity = {axis: tree.available_on(queue, axis) + amount for axis, amount in preemptor.usage}
    search.put_back()
    snapshot.discharge(preemptor.queue, preemptor.usage)
    return capacity


class FairSearch:
    """One search; the workloads taken so far are away in the snapshot."""

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings) -> None:
        """Take no workload yet; the preemptor is charged in *snapshot*, which is else at rest."""
        self.choices: list[Choice] = []
        self._touched: set[QueueName] = set()  # sides of which a workload was taken
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._preemptor = preemptor
        self._first, *self._second = settings.strategies
        self._path = snapshot.path(preemptor.queue)
        self._below = dict(zip(self._path[1:], self._path, strict=False))
        self._options = settings.options
        gates = dict(settings.feature_gates)
        self.within_nominal = gates.get(
            "FairSharingPreemptWithinNominal", True
        ) and not self._tree.borrows_any(preemptor.queue, preemptor.need)
        # Workloads that are taken free quota, so that nothing else is lacking later.
        available = self._tree.available_on
        self._lacking = [
            axis for axis, _ in preemptor.usage if available(preemptor.queue, axis) < 0
        ]
        self._candidates = Candidates(snapshot, preemptor, self._cohort_filter())

    def run(self) -> bool:
        """Take workloads until the preemptor fits; return whether it does."""
        return self._first_round() or (bool(self._second) and self._second_round())

    def failure(self) -> FailedSearch:
        """Return how it ended if it found too few workloads, before it is undone."""
        tree, queue = self._tree, self._preemptor.queue
        available = [(axis, tree.available_on(queue, axis)) for axis, _ in self._preemptor.usage]
        return FailedSearch(
            ranks=tuple([tree.rank(side) for side in self._path[:-1]]),
            lacking=tuple([(axis, -amount) for axis, amount in available if amount < 0]),
            took_any=bool(self.choices),
            within_nominal=self.within_nominal,
        )

    def may_override(self) -> bool:
        """Return whether to begin anew, so that priority overrules the shares."""
        rules = self._snapshot.rules[self._preemptor.queue].preemption.borrow_within_cohort
        is_on = self._options.priority_override and rules.policy == "LowerPriority"
        return is_on and not self.within_nominal and self._preemptor.may_use_fair_sharing

    def put_back(self) -> None:
        """Put all workloads back that were taken."""
        for choice in self.choices:
            self._snapshot.charge(choice.workload.queue, choice.workload.usage)
        self.choices = []

    def fits(self) -> bool:
        """Return whether the preemptor, which is charged already, fits."""
        tree, queue = self._tree, self._preemptor.queue
        return min([tree.available_on(queue, axis) for axis in self._lacking], default=0) >= 0

    def _cohort_filter(self) -> CandidateFilter:
        """Return the filter for other queues: options bind only beyond the nominal quota."""
        if self.within_nominal:
            return cohort_filter(self._snapshot, self._preemptor, within_nominal=True)
        return fair_sharing_filter(self._snapshot, self._preemptor, self._options)

    def _first_round(self) -> bool:
        order = FairOrder(self._snapshot, self._path, self._candidates.of, self._share_order)
        rules_out = rules_out_none if self.within_nominal else self._rules_out_at_first()
        while (queue := order.next(rules_out)) is not None:
            if queue == self._preemptor.queue:
                self._take(order.remaining(queue).pop(), "InClusterQueue")
            elif self.within_nominal:
                self._take(order.remaining(queue).pop(), "InCohortReclamation")
            elif not self._take_fairly(order, queue, self._sides(queue, self._first)):
                order.drop(queue)
                continue
            if self.fits():
                return True
            order.refresh(queue)
        return False

    def _share_order(self, cohort: QueueName, besides: Collection[QueueName]) -> Sequence[ShareKey]:
        """Return the order at rest below *cohort*; those *besides* are not at rest."""
        return self._snapshot.share_order.below(cohort, self._candidates.cohort_filter, besides)

    def _second_round(self) -> bool:
        """Let each queue lose one more workload, on what the first round left.

        A candidate left in a queue that still counts was refused in the first round: a queue that
        it never visited borrows nothing, or lies below a cohort that borrows nothing, and so it is
        passed over again.
        """
        gone = {choice.workload.name for choice in self.choices}

        def refused(queue: QueueName) -> list[AdmittedWorkload]:
            return [each for each in self._candidates.of(queue) if each.name not in gone]

        (strategy,) = self._second
        # Where no workload was taken, nodes stand as before the first round.
        losing = {choice.workload.queue for choice in self.choices}
        moved = {name for queue in losing for name in self._snapshot.path(queue)}
        order = FairOrder(self._snapshot, self._path, refused, self._share_order, moved)
        rules_out = self._rules_out(strategy)
        while (queue := order.next(rules_out)) is not None:
            sides = self._sides(queue, strategy)
            self._take(order.remaining(queue)[-1], "InCohortFairSharing", sides)
            if self.fits():
                return True
            order.drop(queue)
            order.refresh(queue)
        return False

    def _rules_out_at_first(self) -> RulesOut:
        return self._rules_out(self._first)

    def _rules_out(self, strategy: Strategy) -> RulesOut:
        """Return the test that rules out a whole side under *strategy*.

        A side only falls in rank when a workload leaves it. So a side that borrows less than the
        preemptor's before a workload leaves does not reach it afterwards.
        """
        rank = self._tree.rank
        if strategy == "LessThanInitialShare":
            return lambda ours, theirs: rank(ours) >= rank(theirs)
        return lambda ours, theirs: rank(ours) > rank(theirs)

    def _sides(self, queue: QueueName, strategy: Strategy) -> Sides:
        """Return the two children of the lowest cohort above the preemptor and *queue*."""
        parents = self._snapshot.parents
        theirs, cohort = queue, parents[queue]
        while cohort not in self._below:
            assert cohort is not None, f"{queue} is in another tree"
            theirs, cohort = cohort, parents[cohort]
        return Sides(self._below[cohort], theirs, strategy)

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        """Take the first candidate that the strategy allows; earlier ones are refused and dropped.

        A side that is visited was not ruled out, which is all that comparing with the share before
        needs. Comparing with the share after looks at each candidate; equal usages of one queue
        come to the same, so they are judged once.
        """
        tree = self._tree
        if sides.strategy == "LessThanInitialShare":
            self._take(order.remaining(queue).pop(), "InCohortFairSharing", sides)
            return True
        ours = tree.rank(sides.preemptor)
        if sides.target not in self._touched:
            share_order, candidate_filter = (
                self._snapshot.share_order,
                self._candidates.cohort_filter,
            )
            if ours > share_order.rank_without_one(sides.target, queue, candidate_filter):
                return False
        remaining = order.remaining(queue)
        refused: set[Usage] = set()
        while remaining:
            admitted = remaining.pop()
            if admitted.usage in refused:
                continue
            if ours <= tree.rank_without(sides.target, queue, admitted.usage):
                self._touched.add(sides.target)
                self._take(admitted, "InCohortFairSharing", sides)
                return True
            refused.add(admitted.usage)
        return False

    def _take(
        self, admitted: AdmittedWorkload, reason: TargetReason, sides: Sides | None = None
    ) -> None:
        self.choices.append(Choice(admitted, reason, sides))
        self._snapshot.discharge(admitted.queue, admitted.usage)


class _OverridingSearch(FairSearch):
    """A search in which workloads of lower priority give way whatever the shares are.

    No side is ruled out in its first round, since priority is judged workload by workload. A
    workload that the shares let go is still taken for their sake.
    """

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings) -> None:
        super().__init__(snapshot, preemptor, settings)
        self._rules = snapshot.rules[preemptor.queue].preemption.borrow_within_cohort

    def _rules_out_at_first(self) -> RulesOut:
        return rules_out_none

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        remaining = order.remaining(queue)
        is_hopeless = self._rules_out(sides.strategy)(sides.preemptor, sides.target)
        while remaining:
            admitted = remaining.pop()
            if not is_hopeless and self._shares_allow(admitted, sides):
                self._take(admitted, "InCohortFairSharing", sides)
                return True
            if outranks(self._rules, self._preemptor, admitted):
                self._take(admitted, "InCohortReclaimWhileBorrowing")
                return True
        return False

    def _shares_allow(self, admitted: AdmittedWorkload, sides: Sides) -> bool:
        """Return whether the strategy lets a workload go, of a side that is not ruled out."""
        if sides.strategy == "LessThanInitialShare":
            return True
        tree = self._tree
        after = tree.rank_without(sides.target, admitted.queue, admitted.usage)
        return tree.rank(sides.preemptor) <= after
