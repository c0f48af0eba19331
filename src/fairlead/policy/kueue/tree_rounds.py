"""Cycle after cycle in one tree of quota, until a cycle changes nothing any more.

Kueue looks at one head of each ClusterQueue in a cycle, and begins the next at once. What happens
until those who must give way have left is one plan: heads are admitted and the next ones follow,
or they step aside, or they wait for others to leave and stay the first of their queue.
"""

from collections.abc import Iterator, Mapping

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.claim_restraints import ClaimRestraints
from fairlead.policy.kueue.cycle import KueueCycle, Turn
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.holder import Holder
from fairlead.policy.kueue.kept_promises import cycle_that_keeps_promises
from fairlead.policy.kueue.pending_line import PendingLine
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot


class TreeRounds:
    """The cycles of one tree."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        lines: Mapping[QueueName, PendingLine],
        restraints: ClaimRestraints,
    ) -> None:
        """Begin with *snapshot*, which follows what is decided, and the lines of its queues."""
        self.snapshot = snapshot
        self._axes = axes
        self._settings = settings
        self._lines = lines
        self._restraints = restraints
        self.last: dict[WorkloadName, Turn] = {}  # of those that had one and wait

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the snapshot follows it.

        Ends, because nobody leaves meanwhile: every cycle but the last admits somebody, tells
        somebody to leave who was not told before, or sets somebody aside for good. Cost: a cycle
        over the heads of the tree for each of these, at most.
        """
        goes_on = True
        while goes_on:
            has_changed = is_retried = goes_on = False
            for turn in list(self._cycle()):
                if turn.outcome == "admitted" or self._evicts(turn):
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
            goes_on |= has_changed and is_retried

    def preempting(self) -> list[Turn]:
        """Return the last turns of those that wait for others to leave."""
        return [turn for turn in self.last.values() if turn.outcome == "preempting"]

    def keeping(self) -> list[Turn]:
        """Return the last turns of heads that keep something from others, cycle after cycle."""
        heads = [head for line in self._lines.values() if (head := line.head()) is not None]
        turns = [self.last[head.name] for head in heads if head.name in self.last]
        return [turn for turn in turns if turn.kept]

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
        if self._settings.options.ends_loops:
            return cycle_that_keeps_promises(
                self.snapshot, self._axes, self._settings, heads, preempting
            )
        return KueueCycle(self.snapshot.copy(), self._axes, self._settings).run(heads, preempting)

    def _evicts(self, turn: Turn) -> bool:
        return any(not target.holder.is_evicted for target in turn.targets)

    def _follow(self, turn: Turn, line: PendingLine) -> None:
        """Let snapshot and line follow a turn."""
        waiting = turn.nomination.waiting
        self.last[waiting.name] = turn
        match turn.outcome:
            case "admitted":
                del self.last[waiting.name]
                line.admit(waiting.name)
                holder = self._holder(turn)
                self.snapshot.admit(holder)
                if self.snapshot.uses is not None:
                    self.snapshot.uses.admit(holder.name, holder.usage)
            case "preempting":
                line.preempting = waiting.name
                for target in turn.targets:
                    self.snapshot.let_be_evicted(target.holder)
                    self._restraints.record(waiting.name, target)
            case "nofit" | "nocandidates":
                line.set_aside(waiting.name)
            case "skipped" | "deferred":
                return  # it stays the head, and is asked again if anything changed

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
