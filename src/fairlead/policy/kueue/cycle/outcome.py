"""What the rounds of one cohort tree left behind, for those reasons that need all of it."""

from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.rounds import Rounds
from fairlead.policy.kueue.cycle.source import PlainSource
from fairlead.policy.kueue.preemption.restraints import PreemptionDelay, PreemptionRestraints
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload


class TreeOutcome:
    """One tree as its rounds, which are over, left it."""

    def __init__(
        self, source: PlainSource, rounds: Rounds, restraints: PreemptionRestraints
    ) -> None:
        """Look at *source* after *rounds*."""
        self.snapshot = source.snapshot
        self.decided_on = source.decided_on
        self.queues = source.queues
        self.restrained = source.restrained
        self._rounds = rounds
        self._restraints = restraints

    def preempting(self) -> list[Turn]:
        """Return the last turns of workloads that wait for evicted ones."""
        return self._rounds.preempting()

    def reserving(self) -> list[Turn]:
        """Return the last turns of heads that reserve quota."""
        heads = [head for queue in self.queues.values() if (head := queue.head()) is not None]
        turns = [self._rounds.last[head.name] for head in heads if head.name in self._rounds.last]
        return [turn for turn in turns if turn.reserved]

    def as_reserved(self) -> Snapshot:
        """Return the tree as if heads had what they reserve, and their victims had left."""
        snapshot, evicted = self.snapshot.copy(), self._rounds.evicted()
        awaited = {
            name for turn in self.preempting() for name in self._rounds.awaited(turn, evicted)
        }
        for admitted in self.snapshot.evicted():
            if admitted.name in awaited:
                snapshot.remove(admitted)
        for turn in self.reserving():
            snapshot.charge(turn.nomination.pending.queue, turn.reserved)
        return snapshot

    def preemption_delay(self, pending: PendingWorkload) -> PreemptionDelay | None:
        """Return until when *pending* may not preempt by fair sharing; None: it may."""
        return self._restraints.preemption_delay(pending)
