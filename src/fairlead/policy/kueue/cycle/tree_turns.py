"""The turns of one tree of quota, looked at anew."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn, fits_once_left, set_aside_for
from fairlead.policy.kueue.cycle.plain_rounds import PlainRounds
from fairlead.policy.kueue.cycle.promises import kept_promise, promised_holder
from fairlead.policy.kueue.cycle.turn_by_turn import TurnByTurn
from fairlead.policy.kueue.flavors.assignment import Mode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending.queue import PendingLine
from fairlead.policy.kueue.preemption.restraints import ClaimRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Holder, Usage, Waiting


class TreeTurns(TurnByTurn, PlainRounds):
    """The turns of one tree."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        lines: Mapping[QueueName, PendingLine],
        restraints: ClaimRestraints,
        promises: Mapping[WorkloadName, Promise],
    ) -> None:
        """Begin as `PlainRounds` do."""
        super().__init__(snapshot, axes, settings, lines, restraints, promises)
        self._now = Nominator(snapshot, axes, settings)
        self._later = Nominator(self.decided_on, axes, settings)
        self._blocked: list[Turn] = []  # of heads that keep something and step aside for nobody

    def _kept(self) -> list[Turn]:
        turns = []
        for line in self._lines.values():
            head = line.head()
            if head is None or line.preempting is None:
                continue
            kept = kept_promise(self._later, self.restrained(head), self._promises.get(head.name))
            if kept is None or kept.assignment is None:
                line.preempting = None
                self._promises.pop(head.name, None)
                continue
            turn = Turn(kept, "preempting", kept.assignment.usage)
            self.decided_on.admit(promised_holder(turn))
            turns.append(turn)
        return turns

    def _open(self) -> Iterable[QueueName]:
        return [queue for queue, line in self._lines.items() if line.preempting is None]

    def _next_in(self, queue: QueueName) -> Nomination | None:
        line = self._lines[queue]
        while (head := line.head()) is not None:
            found = self._nominate(head)
            if self._can_proceed(found) or line.is_blocked_by_its_head:
                return found
            self._refuse(found)
        return None

    def _nominate(self, head: Waiting) -> Nomination:
        """Return what *head* needs; who fits at once may have other flavors, or fewer pods."""
        head = self.restrained(head)
        groups = self.snapshot.rules[head.queue].resource_groups
        if head.may_shrink() or any(len(group.flavors) > 1 for group in groups):
            found = self._now.nominate(head)
            assignment = found.assignment if found.mode() is Mode.FIT else None
            if assignment is not None and self.decided_on.fits(head.queue, assignment.usage):
                return found
        return self._later.nominate(head)

    def _look_again(self, nomination: Nomination) -> Nomination:
        return self._nominate(nomination.waiting)

    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        return self.snapshot.fits(queue, usage)

    def _refuse(self, nomination: Nomination) -> bool:
        """Set one aside; with StrictFIFO it stays, and keeps what it could have from others."""
        waiting, assignment = nomination.waiting, nomination.assignment
        line = self._lines[waiting.queue]
        turn = Turn(nomination, "nofit" if assignment is None else "nocandidates")
        if line.is_blocked_by_its_head and assignment is not None:
            kept = set_aside_for(self.decided_on, waiting.queue, assignment)
            turn = replace(turn, kept=tuple([(axis, max(0, amount)) for axis, amount in kept]))
            self._blocked.append(turn)
        self.last[waiting.name] = turn
        line.set_aside(waiting.name)
        return not line.is_blocked_by_its_head

    def _admit(self, holder: Holder) -> None:
        self._lines[holder.queue].admit(holder.name)
        self.snapshot.admit(holder)
        if self.snapshot.uses is not None:
            self.snapshot.uses.admit(holder.name, holder.usage)

    def _tell_to_leave(self, holder: Holder) -> None:
        self.snapshot.let_be_evicted(holder)
        self.decided_on.let_leave(holder)

    def _promise(self, turn: Turn) -> None:
        waiting = turn.nomination.waiting
        self._lines[waiting.queue].preempting = waiting.name
        self.decided_on.admit(promised_holder(turn))

    def _release(self, turn: Turn) -> None:
        self.decided_on.let_leave(promised_holder(turn))

    def _leaving_holders(self) -> Mapping[WorkloadName, Holder]:
        return {holder.name: holder for holder in self.snapshot.leaving()}

    def _is_left_over(self, nomination: Nomination) -> bool:
        for turn in self._blocked:
            self.decided_on.charge(turn.nomination.waiting.queue, turn.kept)
        is_left = fits_once_left(self.decided_on, nomination)
        for turn in self._blocked:
            self.decided_on.discharge(turn.nomination.waiting.queue, turn.kept)
        return is_left
