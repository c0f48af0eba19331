"""Cycle after cycle in one tree of quota, until a cycle changes nothing any more.

Kueue looks at one head of each ClusterQueue in a cycle, and begins the next at once. What happens
until those who must give way have left is one plan: heads are admitted and the next ones follow,
or they step aside, or they wait for others to leave and stay the first of their queue.
"""

from collections.abc import Iterator, Mapping

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.workload import Promise
from fairlead.policy.kueue.claim_restraints import ClaimRestraints
from fairlead.policy.kueue.cycle import KueueCycle, Turn
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.holder import Holder
from fairlead.policy.kueue.kept_promises import cycle_that_keeps_promises
from fairlead.policy.kueue.nomination import Nomination
from fairlead.policy.kueue.pending_line import PendingLine
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot
from fairlead.policy.kueue.target import Target


class TreeRounds:
    """The cycles of one tree."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        lines: Mapping[QueueName, PendingLine],
        restraints: ClaimRestraints,
        promises: Mapping[WorkloadName, Promise],
    ) -> None:
        """Begin with *snapshot*, which follows what is decided, and the lines of its queues.

        *promises* are what earlier plans promised to those who preempt.
        """
        self.snapshot = snapshot
        self._axes = axes
        self._settings = settings
        self._lines = lines
        self._restraints = restraints
        self._promises = dict(promises)
        self._told: set[WorkloadName] = set()  # to leave, in this plan
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now
        self.last: dict[WorkloadName, Turn] = {}  # of those that had one and wait

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the snapshot follows it.

        Ends, because nobody leaves meanwhile: every cycle but the last admits somebody, tells
        somebody to leave who was not told before, or sets somebody aside for good. Cost: a cycle
        over the heads of the tree for each of these, at most; but only heads that are new are
        nominated, unless something changed.
        """
        goes_on = True
        while goes_on:
            has_changed = is_retried = goes_on = False
            promises = self._promises.copy()
            for turn in list(self._cycle()):
                if turn.outcome == "admitted" or self.newly_told(turn):
                    has_changed = True
                    yield turn
                line = self._lines[turn.nomination.waiting.queue]
                before = line.head()
                self._follow(turn, line)
                head = line.head()
                goes_on |= head is not None and head.name not in self.last
                if turn.outcome == "nocandidates" and head is not before:
                    has_changed = True  # what was kept for it others can have now
                is_retried |= turn.outcome not in ("admitted", "preempting") and head is not None
            if has_changed or self._promises != promises:
                self._nominated = self._chosen()
            goes_on |= has_changed and is_retried

    def _chosen(self) -> dict[WorkloadName, Nomination]:
        """Return those that preempt: they have chosen. Promises are kept without a nomination."""
        if self._settings.keeps_promises:
            return {}
        return {turn.nomination.waiting.name: turn.nomination for turn in self.preempting()}

    def newly_told(self, turn: Turn) -> list[Target]:
        """Return who gives way in *turn* and was not told to leave before."""
        return [
            each
            for each in turn.targets
            if not each.holder.is_evicted and each.holder.name not in self._told
        ]

    def preempting(self) -> list[Turn]:
        """Return the last turns of those that wait for others to leave."""
        return [turn for turn in self.last.values() if turn.outcome == "preempting"]

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(holder.name for holder in self.snapshot.leaving())

    def awaited(self, turn: Turn, leaving: frozenset[WorkloadName]) -> list[WorkloadName]:
        """Return for whom of *leaving* one that is preempting waits, by name."""
        promise = self._promises.get(turn.nomination.waiting.name)
        own = () if promise is None else leaving.intersection(promise.waits_for)
        return sorted(own or leaving)

    def keeping(self) -> list[Turn]:
        """Return the last turns of heads that keep something from others, cycle after cycle."""
        heads = [head for line in self._lines.values() if (head := line.head()) is not None]
        turns = [self.last[head.name] for head in heads if head.name in self.last]
        return [turn for turn in turns if turn.kept]

    def as_kept(self) -> Snapshot:
        """Return the tree as if heads had what they keep, and those had left whom they wait for."""
        snapshot = self.snapshot.copy()
        leaving = self.leaving()
        awaited = {name for turn in self.preempting() for name in self.awaited(turn, leaving)}
        for holder in self.snapshot.leaving():
            if holder.name in awaited:
                snapshot.let_leave(holder)
        for turn in self.keeping():
            snapshot.charge(turn.nomination.waiting.queue, turn.kept)
        return snapshot

    def as_decided(self) -> Snapshot:
        """Return the tree on which another cycle would look at new heads."""
        if not self._settings.keeps_promises:
            return self.snapshot
        later = self.snapshot.copy()
        for holder in self.snapshot.leaving():
            later.let_leave(holder)
        for turn in self.preempting():
            later.charge(turn.nomination.waiting.queue, turn.kept)
        return later

    def restrained(self, waiting: Waiting) -> Waiting:
        """Return *waiting* with what it must not ask for now."""
        return waiting._replace(restraint=self._restraints.of(waiting))

    def _cycle(self) -> Iterator[Turn]:
        heads = [
            self.restrained(head)
            for line in self._lines.values()
            if (head := line.head()) is not None
        ]
        preempting = {line.preempting for line in self._lines.values() if line.preempting}
        if self._settings.keeps_promises:
            promises = {name: self._promises.get(name) for name in preempting}
            return cycle_that_keeps_promises(
                self.snapshot, self._axes, self._settings, heads, promises, self._nominated
            )
        cycle = KueueCycle(self.snapshot.copy(), self._axes, self._settings)
        return cycle.run(heads, preempting, self._nominated)

    def _follow(self, turn: Turn, line: PendingLine) -> None:
        """Let snapshot and line follow a turn."""
        waiting = turn.nomination.waiting
        self.last[waiting.name] = turn
        match turn.outcome:
            case "admitted":
                del self.last[waiting.name]
                line.admit(waiting.name)
                self._promises.pop(waiting.name, None)
                holder = self._holder(turn)
                self.snapshot.admit(holder)
                if self.snapshot.uses is not None:
                    self.snapshot.uses.admit(holder.name, holder.usage)
            case "preempting":
                line.preempting = waiting.name
                self._let_give_way(turn)
            case "nofit" | "nocandidates":
                line.set_aside(waiting.name)
                self._promises.pop(waiting.name, None)
            case "skipped" | "deferred":
                # It stays the head, and is asked again if anything changed.
                if self._settings.keeps_promises:
                    line.preempting = None  # what was promised could not be kept
                    self._promises.pop(waiting.name, None)

    def _let_give_way(self, turn: Turn) -> None:
        """Tell those to leave who give way in *turn*, and promise what they leave."""
        nomination, name = turn.nomination, turn.nomination.waiting.name
        for target in self.newly_told(turn):
            self.snapshot.let_be_evicted(target.holder)
            self._restraints.record(name, target)
            self._told.add(target.holder.name)
        if nomination.assignment is not None and (turn.targets or name not in self._promises):
            self._promises[name] = Promise(
                flavors=nomination.assignment.flavors,
                counts=nomination.counts,
                waits_for=tuple(target.holder.name for target in turn.targets),
            )

    def _holder(self, turn: Turn) -> Holder:
        waiting, assignment = turn.nomination.waiting, turn.nomination.assignment
        assert assignment is not None, "who is admitted has flavors"
        return Holder(
            name=waiting.name,
            queue=waiting.queue,
            priority=waiting.priority,
            usage=assignment.usage,
            queued_ms=waiting.queued_ms,
            reserved_ms=self._restraints.now_ms,
            is_protected=self._settings.options.min_run_time_ms > 0,
        )
