"""One cycle of Kueue's rules: the head of each ClusterQueue is admitted, preempts, or waits.

All heads are nominated on the snapshot as the cycle found it. Then they have their turns one after
the other, and each turn sees what earlier ones took or reserved. Victims keep their usage until
they have left, which counts in the order of turns; but later heads must fit as if all victims so
far were gone. So two snapshots are kept once there are any: with victims, and without.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle.order import ClassicalOrder, Order, head_of, order_gates
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.flavors.assignment import Assignment, AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload, Usage

Outcome: TypeAlias = Literal[
    "admitted", "preempting", "skipped", "nofit", "nocandidates", "deferred"
]


class Turn(msgspec.Struct, frozen=True, gc=False):
    """What became of a head in its turn."""

    nomination: Nomination
    outcome: Outcome
    reserved: Usage = ()  # not available to turns after it in the cycle

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return the victims; none unless it preempts."""
        return self.nomination.targets if self.outcome == "preempting" else ()


class KueueCycle:
    """The turns of one cycle."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Prepare a cycle on *snapshot*, which will hold what the turns come to."""
        self._snapshot = snapshot
        self._axes = axes
        self._settings = settings
        gate = "RecomputeAssignmentUponPreemptionTargetsOverlap"
        self._recomputes = dict(settings.feature_gates).get(gate, True)
        self._later: Snapshot | None = None  # without victims; None: none yet
        self._victims: set[WorkloadName] = set()  # of all turns so far

    def run(
        self,
        heads: Iterable[PendingWorkload],
        preempting: Collection[WorkloadName] = (),
        nominated: dict[WorkloadName, Nomination] | None = None,
    ) -> Iterator[Turn]:
        """Yield the turn of every head, in the order of turns.

        *preempting* are the heads that wait for evicted workloads. Heads in *nominated* are not
        nominated again; the others are added there.
        """
        nominator = Nominator(self._snapshot, self._axes, self._settings)
        known = {} if nominated is None else nominated
        nominations = {}
        for each in heads:
            if each.name not in known:
                known[each.name] = nominator.nominate(each)
            nominations[each.name] = known[each.name]
        yield from self.turns(list(nominations.values()), preempting)

    def turns(
        self, nominations: Sequence[Nomination], preempting: Collection[WorkloadName] = ()
    ) -> Iterator[Turn]:
        """Yield the turn of each head that is nominated already, in the order of turns."""
        by_name = {each.pending.name: each for each in nominations}
        order = self._new_order(nominations, preempting)
        while (name := order.pop()) is not None:
            turn = self._take_turn(by_name[name])
            order.changed(turn.nomination.pending.queue)
            yield turn

    def _new_order(
        self, nominations: Sequence[Nomination], preempting: Collection[WorkloadName]
    ) -> Order:
        heads = [
            head_of(each, is_preempting=each.pending.name in preempting) for each in nominations
        ]
        gates = order_gates(self._settings.feature_gates)
        if self._settings.fair_sharing:
            return Tournament(self._snapshot, heads, gates)
        return ClassicalOrder(heads, gates)

    def _take_turn(self, nomination: Nomination) -> Turn:
        if nomination.assignment is None:
            return Turn(nomination, "nofit")
        if any(target.workload.name in self._victims for target in nomination.targets):
            if not self._recomputes:
                return Turn(nomination, "skipped")
            nomination = self._nominate_again(nomination)
            if nomination.assignment is not None and nomination.mode() is AssignmentMode.FIT:
                return self._reserve(nomination, "deferred", nomination.assignment.usage)
        if nomination.assignment is None:
            return Turn(nomination, "nofit")
        return self._settle(nomination, nomination.assignment)

    def _nominate_again(self, nominated: Nomination) -> Nomination:
        """Return what a head needs, with the same flavors, now that others took its victims."""
        assert nominated.assignment is not None, "a preemptor has flavors"
        again = Nominator(self._without_victims(), self._axes, self._settings)
        return again.nominate(nominated.pending, nominated.assignment.flavors)

    def _settle(self, nomination: Nomination, assignment: Assignment) -> Turn:
        """Admit a head that can proceed, or evict its victims, if what it needs is still there."""
        queue = nomination.pending.queue
        if nomination.mode() is AssignmentMode.PREEMPT and not nomination.targets:
            usage = capacity_to_reserve(self._snapshot, queue, assignment)
            return self._reserve(nomination, "nocandidates", usage)
        if not fits_after_preemption(self._without_victims(), nomination):
            return Turn(nomination, "skipped")
        if nomination.targets and self._later is None:
            self._later = self._snapshot.copy()
        for target in nomination.targets:
            self._victims.add(target.workload.name)
            self._without_victims().remove(target.workload)
        outcome: Outcome = "preempting" if nomination.targets else "admitted"
        return self._reserve(nomination, outcome, assignment.usage)

    def _without_victims(self) -> Snapshot:
        """Return the snapshot in which all victims so far are gone."""
        return self._snapshot if self._later is None else self._later

    def _reserve(self, nomination: Nomination, outcome: Outcome, usage: Usage) -> Turn:
        """Make *usage* unavailable to later turns."""
        queue = nomination.pending.queue
        self._snapshot.charge(queue, usage)
        if self._later is not None:
            self._later.charge(queue, usage)
        return Turn(nomination, outcome, usage)


def capacity_to_reserve(snapshot: Snapshot, queue: QueueName, assignment: Assignment) -> Usage:
    """Return how much to reserve for a head that found no victims: within its limits.

    Other queues must not take that first. A head that may always reclaim needs no reservation.
    """
    if snapshot.rules[queue].preemption.reclaim_within_cohort == "Any":
        return ()
    is_borrowing = assignment.borrow > 0
    kept = []
    for axis, amount in assignment.usage:
        left = snapshot.headroom(queue, axis, is_borrowing=is_borrowing)
        most = amount if left is None else min(amount, left)
        kept.append((axis, most if is_borrowing else max(0, most)))
    return tuple(kept)


def fits_after_preemption(snapshot: Snapshot, nomination: Nomination) -> bool:
    """Return whether a head that has flavors fits in *snapshot* once its victims have left."""
    assert nomination.assignment is not None, "a workload without flavors fits nowhere"
    for target in nomination.targets:
        snapshot.discharge(target.workload.queue, target.workload.usage)
    fits = snapshot.fits(nomination.pending.queue, nomination.assignment.usage)
    for target in nomination.targets:
        snapshot.charge(target.workload.queue, target.workload.usage)
    return fits
