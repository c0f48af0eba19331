"""Why a preemptor found no victims.

The first of these that is so: its queue has preemption off; there are no candidates; an option of
ours restrains it; all candidates together use too little; the rules protect them.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.plan import Comparison, Reason, Tally, Term
from fairlead.policy.kueue.preemption.candidates import PreemptionPolicy, allows
from fairlead.policy.kueue.preemption.classical import classical_capacity, classical_targets
from fairlead.policy.kueue.preemption.fair import FairSearch, fair_capacity, fair_targets
from fairlead.policy.kueue.preemption.fair_order import FairOrder, RulesOut
from fairlead.policy.kueue.preemption.restraints import PreemptionDelay
from fairlead.policy.kueue.preemption.targets import Sides
from fairlead.policy.kueue.settings import KueueSettings, Strategy
from fairlead.policy.kueue.snapshot.admitted import CandidateFilter
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor


class ShareRefusal(NamedTuple):
    """The side that need not give way, its first candidate, and the shares of both sides."""

    side: QueueName
    workload: WorkloadName | None  # None: the side as a whole borrows too little
    comparison: Comparison


def first_refusal(
    snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings
) -> ShareRefusal | None:
    """Return what the shares refused first in the last round that refused something.

    The search itself keeps no account of refusals, since most are many and of no interest. Here it
    runs once more, watched. The comparison holds at that moment of the search, with earlier victims
    away. None: nothing was refused for the sake of shares. *snapshot* is left as it was. Cost: that
    of a search.
    """
    snapshot.share_order.refresh()
    snapshot.charge(preemptor.queue, preemptor.usage)
    search = _WatchedSearch(snapshot, preemptor, settings)
    search.run()
    search.put_back()
    snapshot.discharge(preemptor.queue, preemptor.usage)
    for strategy in reversed(settings.strategies):
        if strategy in search.refusals:
            return search.refusals[strategy]
    return None


class _WatchedSearch(FairSearch):
    """A search that notes the first refusal under each strategy."""

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, settings: KueueSettings) -> None:
        super().__init__(snapshot, preemptor, settings)
        self.refusals: dict[Strategy, ShareRefusal] = {}

    def _rules_out(self, strategy: Strategy) -> RulesOut:
        is_hopeless = super()._rules_out(strategy)

        def watched(ours: QueueName, theirs: QueueName) -> bool:
            if not is_hopeless(ours, theirs):
                return False
            self._note(Sides(ours, theirs, strategy), None)
            return True

        return watched

    def _take_fairly(self, order: FairOrder, queue: QueueName, sides: Sides) -> bool:
        """Look at the first candidate: if any of the queue is refused in this turn, it is."""
        first, tree = order.remaining(queue)[-1], self._tree
        if sides.strategy == "LessThanOrEqualToFinalShare":
            after = tree.rank_without(sides.target, queue, first.usage)
            if tree.rank(sides.preemptor) > after:
                self._note(sides, first)
        return super()._take_fairly(order, queue, sides)

    def _note(self, sides: Sides, admitted: AdmittedWorkload | None) -> None:
        if sides.strategy not in self.refusals:
            name = None if admitted is None else admitted.name
            comparison = self._compare(sides, admitted)
            self.refusals[sides.strategy] = ShareRefusal(sides.target, name, comparison)

    def _compare(self, sides: Sides, admitted: AdmittedWorkload | None) -> Comparison:
        """Compare the shares; of two without weight, which are infinite, those before weights."""
        snapshot, tree = self._snapshot, self._tree
        ours = tree.dominant_share(sides.preemptor)
        if admitted is not None:
            snapshot.discharge(admitted.queue, admitted.usage)
        theirs = tree.dominant_share(sides.target)
        if admitted is not None:
            snapshot.charge(admitted.queue, admitted.usage)
        (ours_weightless, left), (theirs_weightless, right) = ours.rank, theirs.rank
        both = ours_weightless and theirs_weightless
        what = "share without weight" if both else "share"
        return Comparison(
            queue=sides.target,
            axis=None,
            left=(Term(f"later {what}", left if both else ours.share, sides.preemptor),),
            relation=">=" if sides.strategy == "LessThanInitialShare" else ">",
            right=Term(
                what if admitted is None else f"later {what}",
                right if both else theirs.share,
                sides.target,
            ),
        )


PREEMPTION_IS_OFF: Final = "PreemptionIsOff"
NO_CANDIDATES_ALLOWED: Final = "NobodyMayBeAsked"
PROTECTED_BY_MIN_RUNTIME: Final = "ProtectedByMinRuntime"
WOULD_LOOP: Final = "WouldLoop"
TOO_LITTLE_TO_TAKE: Final = "TooLittleToTake"
SHARES_FORBID: Final = "SharesForbid"
BORROWING_FORBIDDEN: Final = "BorrowingForbidden"

_ALLOWED: Final[dict[PreemptionPolicy, str]] = {
    "Never": "may be asked",
    "LowerPriority": "are less important",
    "LowerOrNewerEqualPriority": "are less important or newer",
    "Any": "may be asked",
}


class _Attempt(NamedTuple):
    """A preemptor and the settings; a looser attempt lacks some restraints."""

    preemptor: Preemptor
    settings: KueueSettings
    preemption_delay: PreemptionDelay | None  # of fair sharing

    def targets(self, snapshot: Snapshot) -> list[AdmittedWorkload]:
        """Return the workloads that would give way."""
        preemptor, settings, _ = self
        if settings.fair_sharing:
            found = fair_targets(snapshot, preemptor, settings)
        else:
            found = classical_targets(snapshot, preemptor)
        return [target.workload for target in found]

    def may_use_fair_sharing(self) -> "_Attempt":
        return self._replace(preemptor=replace(self.preemptor, may_use_fair_sharing=True))

    def without_protection(self) -> "_Attempt":
        options = replace(self.settings.options, min_run_time_ms=0)
        return self._replace(settings=replace(self.settings, options=options))

    def without_sparing(self) -> "_Attempt":
        unrestrained = replace(
            self.preemptor, spared=frozenset(), spared_within_nominal=frozenset()
        )
        return self._replace(preemptor=unrestrained)


def diagnose_failed_preemption(
    snapshot: Snapshot,
    preemptor: Preemptor,
    settings: KueueSettings,
    *,
    axes: QuotaAxes,
    now_ms: int,
    preemption_delay: PreemptionDelay | None,
) -> Reason:
    """Return why *preemptor* found no victims.

    *preemption_delay* is until when it may not preempt by fair sharing. Reported comparisons hold.
    *snapshot* is left as it was. Cost: two searches, up to six where options restrain the
    preemptor, and a look at each queue of the tree.
    """
    rules = snapshot.rules[preemptor.queue].preemption
    if rules.within_cluster_queue == rules.reclaim_within_cohort == "Never":
        return Reason(code=PREEMPTION_IS_OFF, queue=preemptor.queue)
    tallies = tuple(_tallies(snapshot, preemptor))
    if not (tallies[0].count or tallies[-1].count):
        return Reason(code=NO_CANDIDATES_ALLOWED, queue=preemptor.queue, tallies=tallies)
    attempt = _Attempt(preemptor, settings, preemption_delay)
    free = attempt.may_use_fair_sharing().without_protection().without_sparing()
    if free == attempt:
        return _refusal(snapshot, attempt, axes)
    for looser in (
        attempt.may_use_fair_sharing(),
        attempt.without_protection(),
        attempt.without_sparing(),
        free,
    ):
        found = _restraining_option(snapshot, attempt, looser, now_ms)
        if found is not None:
            return found
    return _refusal(snapshot, attempt if free.targets(snapshot) else free, axes)


def _tallies(snapshot: Snapshot, preemptor: Preemptor) -> Iterator[Tally]:
    """Count the own queue's workloads, the queues that borrow, and the workloads of those."""
    rules, need = snapshot.rules[preemptor.queue].preemption, preemptor.need
    every = CandidateFilter("Any", 0, need)

    def tally(policy: PreemptionPolicy, admitted: list[AdmittedWorkload], things: str) -> Tally:
        allowed = sum(allows(policy, preemptor, each) for each in admitted)
        return Tally(count=allowed, of=len(admitted), things=things, what=_ALLOWED[policy])

    own = snapshot.admitted(preemptor.queue).matching(every).workloads
    yield tally(rules.within_cluster_queue, own, "workloads of its queue")
    others = [queue for queue in _queues(snapshot, preemptor.queue) if queue != preemptor.queue]
    if not others:
        return
    borrowers = [queue for queue in others if snapshot.tree.borrows_any(queue, need)]
    what = "have borrowed what it needs"
    yield Tally(count=len(borrowers), of=len(others), things="queues beside it", what=what)
    theirs = [
        each for queue in borrowers for each in snapshot.admitted(queue).matching(every).workloads
    ]
    if borrowers:
        yield tally(rules.reclaim_within_cohort, theirs, "workloads there")


def _queues(snapshot: Snapshot, queue: QueueName) -> Iterator[QueueName]:
    """Yield all ClusterQueues of the tree that *queue* is in."""
    below = [snapshot.path(queue)[-1]]
    while below:
        name = below.pop()
        if name in snapshot.rules:
            yield name
        below.extend(snapshot.children.get(name, ()))


def _restraining_option(
    snapshot: Snapshot, attempt: _Attempt, looser: _Attempt, now_ms: int
) -> Reason | None:
    """Return which option protects the targets of a looser attempt; None if none does."""
    preemptor, queue = attempt.preemptor, attempt.preemptor.queue
    found = looser.targets(snapshot)
    others = [each for each in found if each.queue != queue]
    if others and attempt.preemption_delay is not None and looser.preemptor.may_use_fair_sharing:
        until_ms, code = attempt.preemption_delay
        names = tuple(each.name for each in others)
        return Reason(code=code, queue=queue, names=names, remaining_ms=until_ms - now_ms)
    protected = [each for each in others if each.is_protected]
    if protected and looser.settings != attempt.settings:
        last, found = _first_unprotected(snapshot, attempt, looser, protected)
        end_ms = last.reserved_ms + attempt.settings.options.min_run_time_ms
        return _protected(last, found, end_ms - now_ms)
    spared = preemptor.spared | preemptor.spared_within_nominal
    looping = tuple(each.name for each in others if each.name in spared)
    if looping and not (looser.preemptor.spared or looser.preemptor.spared_within_nominal):
        return Reason(code=WOULD_LOOP, queue=queue, names=looping)
    return None


def _first_unprotected(
    snapshot: Snapshot, attempt: _Attempt, looser: _Attempt, protected: list[AdmittedWorkload]
) -> tuple[AdmittedWorkload, list[AdmittedWorkload]]:
    """Return after which protection the attempt first succeeds, and which workloads give way then.

    As if fewer protected workloads never made it harder; where they do, a later moment is reported,
    or none of the workloads that give way then is protected: then those are reported that would be
    found now. Cost: a search for each halving of the protected workloads.
    """
    everything = [
        each
        for queue in _queues(snapshot, attempt.preemptor.queue)
        for each in snapshot.admitted(queue).workloads
        if each.is_protected
    ]
    in_turn = sorted(everything, key=lambda each: (each.reserved_ms, each.name))

    def targets(number: int) -> list[AdmittedWorkload]:
        still = frozenset(each.name for each in in_turn[number + 1 :])
        preemptor = replace(looser.preemptor, spared=looser.preemptor.spared | still)
        return looser._replace(preemptor=preemptor).targets(snapshot)

    at = bisect_left(range(len(in_turn)), True, key=lambda number: bool(targets(number)))
    found = targets(at) if at < len(in_turn) else []
    if not any(each.is_protected for each in found):
        found = protected
    return max((each for each in found if each.is_protected), key=_freed), found


def _freed(admitted: AdmittedWorkload) -> tuple[int, str]:
    return admitted.reserved_ms, admitted.name


def _protected(last: AdmittedWorkload, found: list[AdmittedWorkload], remaining_ms: int) -> Reason:
    """Name the workload that is protected longest of those that would give way."""
    protected = sum(each.is_protected for each in found)
    things = "workloads that would give way"
    tally = Tally(count=protected, of=len(found), things=things, what="are protected")
    return Reason(
        code=PROTECTED_BY_MIN_RUNTIME,
        queue=last.queue,
        names=(last.name,),
        tallies=(tally,),
        remaining_ms=max(0, remaining_ms),
    )


def _refusal(snapshot: Snapshot, attempt: _Attempt, axes: QuotaAxes) -> Reason:
    """Return why the candidates do not give way: they use too little, or the rules forbid it."""
    preemptor, settings, _ = attempt
    if settings.fair_sharing:
        capacity = fair_capacity(snapshot, preemptor, settings)
    else:
        capacity = classical_capacity(snapshot, preemptor)
    short = tuple(
        Comparison(
            queue=preemptor.queue,
            axis=axes.axes[axis],
            left=(Term("request", amount),),
            relation=">",
            right=Term("available then", max(0, capacity[axis])),
        )
        for axis, amount in preemptor.usage
        if amount > max(0, capacity[axis])
    )
    if short:
        return Reason(code=TOO_LITTLE_TO_TAKE, queue=preemptor.queue, comparisons=short)
    if not settings.fair_sharing:
        return _borrowing_forbidden(snapshot, preemptor, axes)
    refusal = first_refusal(snapshot, preemptor, settings)
    assert refusal is not None, "with enough to take, only the shares refuse"
    return Reason(
        code=SHARES_FORBID,
        queue=refusal.side,
        comparisons=(refusal.comparison,),
        names=() if refusal.workload is None else (refusal.workload,),
    )


def _borrowing_forbidden(snapshot: Snapshot, preemptor: Preemptor, axes: QuotaAxes) -> Reason:
    """Return by how much the preemptor would borrow, which it may not at the expense of others."""
    tree, queue = snapshot.tree, preemptor.queue
    beyond = tuple(
        Comparison(
            queue=queue,
            axis=axes.axes[axis],
            left=(Term("allocated", tree.charged_on(queue, axis)), Term("request", amount)),
            relation=">",
            right=Term("quota", tree.subtree_on(queue, axis)),
        )
        for axis, amount in preemptor.usage
        if tree.charged_on(queue, axis) + amount > tree.subtree_on(queue, axis)
    )
    return Reason(code=BORROWING_FORBIDDEN, queue=queue, comparisons=beyond)
