"""The rounds of one cohort tree, until no pending workload can be admitted or preempt any more.

There are two strategies over one record. As Kueue does, cycle after cycle: each looks at the head
of every ClusterQueue. In our own mode, one turn after the other, with promises kept. What a tree
has, uses and waits for comes from a `Source`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import assert_never

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.source import Source
from fairlead.policy.kueue.preemption.restraints import PreemptionDelay, PreemptionRestraints
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload


class Rounds(ABC):
    """The turns of one tree, which workloads they evict, and what they promise."""

    def __init__(
        self, source: Source, settings: KueueSettings, restraints: PreemptionRestraints
    ) -> None:
        """Begin with *source*, which follows what is decided."""
        self.decided_on = source.decided_on
        self.present = source.present
        self.last: dict[WorkloadName, Turn] = {}  # of workloads that had a turn and wait
        self.pods_left_to_start: int | None = None  # None: no limit
        self._source = source
        self._settings = settings
        self._restraints = restraints
        self._evicted: set[WorkloadName] = set()  # in this plan

    @abstractmethod
    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict a workload, each before the source follows it."""

    def has_started_enough(self) -> bool:
        """Return whether to stop here, because enough pods have started."""
        return self.pods_left_to_start is not None and self.pods_left_to_start <= 0

    def evicted(self) -> frozenset[WorkloadName]:
        """Return the workloads that were told to leave, in this plan or before."""
        return frozenset(self._source.evicted())

    def newly_evicted(self, turn: Turn) -> list[Target]:
        """Return the targets of *turn* that were not told to leave before."""
        return [
            each
            for each in turn.targets
            if not each.workload.is_evicted and each.workload.name not in self._evicted
        ]

    def preempting(self) -> list[Turn]:
        """Return the last turns of workloads that wait for evicted ones."""
        return [turn for turn in self.last.values() if turn.outcome == "preempting"]

    def awaited(self, turn: Turn, evicted: frozenset[WorkloadName]) -> list[WorkloadName]:
        """Return for which of *evicted* a preempting workload waits, by name."""
        promise = self._source.promises.get(turn.nomination.pending.name)
        own = () if promise is None else evicted.intersection(promise.waits_for)
        return sorted(own or evicted)

    def _evict_targets(self, turn: Turn) -> list[AdmittedWorkload]:
        """Return the workloads that *turn* evicts now, and note what is promised for that."""
        nomination, name = turn.nomination, turn.nomination.pending.name
        targets, promises = self.newly_evicted(turn), self._source.promises
        for target in targets:
            self._restraints.record(name, target)
            self._evicted.add(target.workload.name)
        if nomination.assignment is not None and (turn.targets or name not in promises):
            promises[name] = Promise(
                flavors=nomination.assignment.flavors,
                counts=nomination.counts,
                waits_for=tuple(target.workload.name for target in turn.targets),
            )
        return [target.workload for target in targets]

    def _admitted(self, turn: Turn) -> AdmittedWorkload:
        """Return the workload that *turn* admits, and count its pods."""
        if self.pods_left_to_start is not None:
            self.pods_left_to_start -= sum(turn.nomination.counts)
        pending, assignment = turn.nomination.pending, turn.nomination.assignment
        assert assignment is not None, "an admitted workload has flavors"
        return AdmittedWorkload(
            name=pending.name,
            queue=pending.queue,
            priority=pending.priority,
            usage=assignment.usage,
            queued_ms=pending.queued_ms,
            reserved_ms=self._restraints.now_ms,
            is_protected=self._settings.options.min_run_time_ms > 0,
            size=self._source.sizes.of(pending.queue, assignment.usage),
        )


class CycleRounds(Rounds):
    """Cycle after cycle, as Kueue goes through them.

    Kueue looks at one head of each ClusterQueue in a cycle, and begins the next one at once. What
    happens until the evicted workloads have left is one plan: heads are admitted and the next ones
    follow, or they are set aside, or they wait and stay the heads of their queues.
    """

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict a workload, each before the source follows it.

        Ends, because no workload leaves meanwhile: every cycle but the last admits a workload,
        evicts one that was not evicted before, or sets one aside for good.
        """
        source = self._source
        while not self.has_started_enough() and (turns := source.next_cycle()) is not None:
            has_changed, promises = False, source.promises.copy()
            for turn in turns:
                if turn.outcome == "admitted" or self.newly_evicted(turn):
                    has_changed = True
                    yield turn
                self._follow(turn)
            source.end_cycle(
                turns,
                self.last,
                has_changed=has_changed,
                other_promises=source.promises != promises,
            )

    def _follow(self, turn: Turn) -> None:
        """Let the source follow a turn."""
        pending, source = turn.nomination.pending, self._source
        self.last[pending.name] = turn
        match turn.outcome:
            case "admitted":
                del self.last[pending.name]
                source.promises.pop(pending.name, None)
                source.admit(self._admitted(turn))
            case "preempting":
                for admitted in self._evict_targets(turn):
                    source.evict(admitted)
                source.hold_head(turn)
            case "nofit" | "nocandidates":
                source.promises.pop(pending.name, None)
                source.mark_inadmissible(pending)
            case "skipped" | "deferred":
                pass  # it stays the head
            case _:
                assert_never(turn.outcome)


class TreeOutcome:
    """One tree as its rounds, which are over, left it."""

    def __init__(self, source: Source, rounds: Rounds, restraints: PreemptionRestraints) -> None:
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
