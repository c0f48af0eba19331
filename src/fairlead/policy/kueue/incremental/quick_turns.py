"""The turns of one tree without those of whom it is known that they cannot be met.

Law: these are the turns of `TreeTurns` on the same tree.
"""

from bisect import insort
from collections.abc import Iterable, Mapping

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.turn_by_turn import TurnByTurn
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass
from fairlead.policy.kueue.incremental.tree_view import TrackedTree
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload, Usage


class QuickTurns(TurnByTurn):
    """The turns of one tree that is remembered from plan to plan."""

    def __init__(
        self,
        view: TrackedTree,
        axes: QuotaAxes,
        settings: KueueSettings,
        restraints: PreemptionRestraints,
    ) -> None:
        """Begin with *view*, which follows what is decided; its promises are settled."""
        super().__init__(view.snapshot, view.present, axes, settings, restraints, view.promises())
        self._view = view
        self._left: dict[
            QueueName, list[EquivalenceClass]
        ] = {}  # who has not stepped aside, in order

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(self._view.leaving)

    def _kept(self) -> list[Turn]:
        return self._view.promised.in_order()

    def _open(self) -> Iterable[QueueName]:
        view = self._view
        for eq_class in view.parked.hopeful():
            if eq_class.queue not in self._left and eq_class.queue not in view.promised.turns:
                self._left[eq_class.queue] = list(view.lines[eq_class.queue].order())
        return list(self._left)

    def _next_in(self, queue: QueueName) -> Nomination | None:
        left, view = self._left[queue], self._view
        for at, eq_class in enumerate(left):
            if view.parked.is_refused(eq_class):
                continue
            found = view.nominate(eq_class.first())
            if self._can_proceed(found):
                del left[:at]
                return found
        left.clear()
        return None

    def _renominate(self, nomination: Nomination) -> Nomination:
        """Return what one who competes needs now: nothing else as long as it has room."""
        assignment, head = nomination.assignment, nomination.pending
        assert assignment is not None, "who competes can be met"
        if not nomination.targets and self.decided_on.fits(head.queue, assignment.usage):
            return nomination
        return self._view.nominate(head)

    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        return not self.present.lacking(queue, usage)

    def _refuse(self, nomination: Nomination) -> bool:
        pending = nomination.pending
        self._left[pending.queue].remove(self._view.kind_of(pending))
        return True

    def _admit(self, admitted: AdmittedWorkload) -> None:
        view, left = self._view, self._left.get(admitted.queue)
        eq_class = view.kind_of(view.pending(admitted.name))
        view.admit(admitted)
        if left is not None:  # another may be the first of its kind now
            left.remove(eq_class)
            if eq_class:
                insort(left, eq_class, key=EquivalenceClass.place)

    def _tell_to_leave(self, admitted: AdmittedWorkload) -> None:
        self._view.tell_to_leave(admitted)

    def _promise(self, turn: Turn) -> None:
        pending = turn.nomination.pending
        self._view.promise(pending, self._promises[pending.name])

    def _release(self, turn: Turn) -> None:
        self._view.promised.drop(turn.nomination.pending.queue)

    def _leaving_holders(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        return self._view.leaving

    def _is_left_over(self, nomination: Nomination) -> bool:
        del nomination
        return True  # no head sets anything aside where everybody may reclaim
