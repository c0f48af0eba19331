"""The turns of one tree without those of whom it is known that they cannot be met.

Law: these are the turns of `TreeTurns` on the same tree.
"""

from bisect import insort
from collections.abc import Iterable, Mapping

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.turn_by_turn import TurnByTurn
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import Kind
from fairlead.policy.kueue.incremental.tree_view import TreeView
from fairlead.policy.kueue.preemption.restraints import ClaimRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import Holder, Usage


class QuickTurns(TurnByTurn):
    """The turns of one tree that is remembered from plan to plan."""

    def __init__(
        self, view: TreeView, axes: QuotaAxes, settings: KueueSettings, restraints: ClaimRestraints
    ) -> None:
        """Begin with *view*, which follows what is decided; its promises are settled."""
        super().__init__(view.snapshot, view.present, axes, settings, restraints, view.promises())
        self._view = view
        self._left: dict[QueueName, list[Kind]] = {}  # who has not stepped aside, in order

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(self._view.leaving)

    def _kept(self) -> list[Turn]:
        return self._view.promised.in_order()

    def _open(self) -> Iterable[QueueName]:
        view = self._view
        for kind in view.sleepers.hopeful():
            if kind.queue not in self._left and kind.queue not in view.promised.turns:
                self._left[kind.queue] = list(view.lines[kind.queue].order())
        return list(self._left)

    def _next_in(self, queue: QueueName) -> Nomination | None:
        left, view = self._left[queue], self._view
        for at, kind in enumerate(left):
            if view.sleepers.is_refused(kind):
                continue
            found = view.nominate(kind.first())
            if self._can_proceed(found):
                del left[:at]
                return found
        left.clear()
        return None

    def _look_again(self, nomination: Nomination) -> Nomination:
        """Return what one who competes needs now: nothing else as long as it has room."""
        assignment, head = nomination.assignment, nomination.waiting
        assert assignment is not None, "who competes can be met"
        if not nomination.targets and self.decided_on.fits(head.queue, assignment.usage):
            return nomination
        return self._view.nominate(head)

    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        return not self.present.lacking(queue, usage)

    def _refuse(self, nomination: Nomination) -> bool:
        waiting = nomination.waiting
        self._left[waiting.queue].remove(self._view.kind_of(waiting))
        return True

    def _admit(self, holder: Holder) -> None:
        view, left = self._view, self._left.get(holder.queue)
        kind = view.kind_of(view.waiting(holder.name))
        view.admit(holder)
        if left is not None:  # another may be the first of its kind now
            left.remove(kind)
            if kind:
                insort(left, kind, key=Kind.place)

    def _tell_to_leave(self, holder: Holder) -> None:
        self._view.tell_to_leave(holder)

    def _promise(self, turn: Turn) -> None:
        waiting = turn.nomination.waiting
        self._view.promise(waiting, self._promises[waiting.name])

    def _release(self, turn: Turn) -> None:
        self._view.promised.drop(turn.nomination.waiting.queue)

    def _leaving_holders(self) -> Mapping[WorkloadName, Holder]:
        return self._view.leaving

    def _is_left_over(self, nomination: Nomination) -> bool:
        del nomination
        return True  # no head sets anything aside where everybody may reclaim
