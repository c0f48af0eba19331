"""What a plan of one tree of quota looks at if it is made anew, and what it leaves behind."""

from collections.abc import Mapping

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.promises import without_evicted
from fairlead.policy.kueue.cycle.rounds import Rounds
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.preemption.restraints import PreemptionDelay, PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload


class PlainRounds(Rounds):
    """The turns of one tree, of which all holders and all who wait are at hand."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        lines: Mapping[QueueName, PendingQueue],
        restraints: PreemptionRestraints,
        promises: Mapping[WorkloadName, Promise],
    ) -> None:
        """Begin with *snapshot*, which follows what is decided, and the lines of its queues.

        *promises* are what earlier plans promised to those who preempt.
        """
        decided_on = without_evicted(snapshot) if settings.keeps_promises else snapshot
        super().__init__(decided_on, snapshot.tree, axes, settings, restraints, promises)
        self.snapshot = snapshot
        self._lines = lines

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(admitted.name for admitted in self.snapshot.evicted())

    def keeping(self) -> list[Turn]:
        """Return the last turns of heads that keep something from others."""
        heads = [head for line in self._lines.values() if (head := line.head()) is not None]
        turns = [self.last[head.name] for head in heads if head.name in self.last]
        return [turn for turn in turns if turn.kept]

    def as_kept(self) -> Snapshot:
        """Return the tree as if heads had what they keep, and those had left whom they wait for."""
        snapshot = self.snapshot.copy()
        leaving = self.leaving()
        awaited = {name for turn in self.preempting() for name in self.awaited(turn, leaving)}
        for admitted in self.snapshot.evicted():
            if admitted.name in awaited:
                snapshot.remove(admitted)
        for turn in self.keeping():
            snapshot.charge(turn.nomination.pending.queue, turn.kept)
        return snapshot

    def preemption_delay(self, pending: PendingWorkload) -> PreemptionDelay | None:
        """Return until when *waiting* may not ask by fair sharing; None: it may."""
        return self._restraints.preemption_delay(pending)

    def restrained(self, pending: PendingWorkload) -> PendingWorkload:
        """Return *waiting* with what it must not ask for now."""
        return replace(pending, restraint=self._restraints.of(pending))
