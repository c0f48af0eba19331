"""The turns of one tree of quota, looked at anew."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn, capacity_to_reserve, fits_after_preemption
from fairlead.policy.kueue.cycle.plain_rounds import PlainRounds
from fairlead.policy.kueue.cycle.promises import kept_promise, promised_workload
from fairlead.policy.kueue.cycle.turn_by_turn import TurnByTurn
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload, Usage


class TreeTurns(TurnByTurn, PlainRounds):
    """The turns of one tree."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        lines: Mapping[QueueName, PendingQueue],
        restraints: PreemptionRestraints,
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
            self.decided_on.admit(promised_workload(turn))
            turns.append(turn)
        return turns

    def _open(self) -> Iterable[QueueName]:
        return [queue for queue, line in self._lines.items() if line.preempting is None]

    def _next_in(self, queue: QueueName) -> Nomination | None:
        line = self._lines[queue]
        while (head := line.head()) is not None:
            found = self._nominate(head)
            if self._can_proceed(found) or line.is_strict_fifo:
                return found
            self._refuse(found)
        return None

    def _nominate(self, head: PendingWorkload) -> Nomination:
        """Return what *head* needs; who fits at once may have other flavors, or fewer pods."""
        head = self.restrained(head)
        groups = self.snapshot.rules[head.queue].resource_groups
        if head.may_shrink() or any(len(group.flavors) > 1 for group in groups):
            found = self._now.nominate(head)
            assignment = found.assignment if found.mode() is AssignmentMode.FIT else None
            if assignment is not None and self.decided_on.fits(head.queue, assignment.usage):
                return found
        return self._later.nominate(head)

    def _renominate(self, nomination: Nomination) -> Nomination:
        return self._nominate(nomination.pending)

    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        return self.snapshot.fits(queue, usage)

    def _refuse(self, nomination: Nomination) -> bool:
        """Set one aside; with StrictFIFO it stays, and keeps what it could have from others."""
        pending, assignment = nomination.pending, nomination.assignment
        line = self._lines[pending.queue]
        turn = Turn(nomination, "nofit" if assignment is None else "nocandidates")
        if line.is_strict_fifo and assignment is not None:
            kept = capacity_to_reserve(self.decided_on, pending.queue, assignment)
            turn = replace(turn, kept=tuple([(axis, max(0, amount)) for axis, amount in kept]))
            self._blocked.append(turn)
        self.last[pending.name] = turn
        line.mark_inadmissible(pending.name)
        return not line.is_strict_fifo

    def _admit(self, admitted: AdmittedWorkload) -> None:
        self._lines[admitted.queue].admit(admitted.name)
        self.snapshot.admit(admitted)
        if self.snapshot.local_usage is not None:
            self.snapshot.local_usage.admit(admitted.name, admitted.usage)

    def _tell_to_leave(self, admitted: AdmittedWorkload) -> None:
        self.snapshot.mark_evicted(admitted)
        self.decided_on.remove(admitted)

    def _promise(self, turn: Turn) -> None:
        pending = turn.nomination.pending
        self._lines[pending.queue].preempting = pending.name
        self.decided_on.admit(promised_workload(turn))

    def _release(self, turn: Turn) -> None:
        self.decided_on.remove(promised_workload(turn))

    def _leaving_holders(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        return {admitted.name: admitted for admitted in self.snapshot.evicted()}

    def _is_left_over(self, nomination: Nomination) -> bool:
        for turn in self._blocked:
            self.decided_on.charge(turn.nomination.pending.queue, turn.kept)
        is_left = fits_after_preemption(self.decided_on, nomination)
        for turn in self._blocked:
            self.decided_on.discharge(turn.nomination.pending.queue, turn.kept)
        return is_left
