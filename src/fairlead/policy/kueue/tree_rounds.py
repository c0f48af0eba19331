"""Cycle after cycle in one tree of quota, until a cycle changes nothing any more.

Kueue looks at one head of each ClusterQueue in a cycle, and begins the next at once. What happens
until those who must give way have left is one plan: heads are admitted and the next ones follow,
or they step aside, or they wait for others to leave and stay the first of their queue.

Where promises are kept, those have their turns first to whom something was promised. Who waits for
others to leave keeps its queue waiting, and is not asked again before the next plan.
"""

from collections.abc import Iterator, Mapping

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.workload import Promise
from fairlead.policy.kueue.claim_restraints import ClaimRestraints
from fairlead.policy.kueue.cycle import KueueCycle, Turn
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.holder import Holder
from fairlead.policy.kueue.kept_promises import (
    as_of_now,
    kept_promise,
    nominate_now,
    once_they_have_left,
)
from fairlead.policy.kueue.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending_line import PendingLine
from fairlead.policy.kueue.rounds import Rounds
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot


class TreeRounds(Rounds):
    """The cycles of one tree that is looked at anew."""

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
        decided_on = once_they_have_left(snapshot) if settings.keeps_promises else snapshot
        super().__init__(decided_on, snapshot.tree, axes, settings, restraints, promises)
        self.snapshot = snapshot
        self._lines = lines
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the snapshot follows it.

        Ends, because nobody leaves meanwhile: every cycle but the last admits somebody, tells
        somebody to leave who was not told before, or sets somebody aside for good. Cost: a cycle
        over the heads of the tree for each of these, at most; but only heads that are new are
        nominated, unless something changed.
        """
        yield from self.keep_promises()
        goes_on = True
        while goes_on:
            has_changed = is_retried = goes_on = False
            promises = self._promises.copy()
            for turn in list(self._cycle()):
                has_changed |= self._changes(turn)
                if turn.outcome == "admitted" or self.newly_told(turn):
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

    def keep_promises(self) -> Iterator[Turn]:
        """Yield the turns of those who have what was promised to them, if promises are kept.

        Law: who preempted has what it was promised as soon as those have left who were told to,
        unless something else changes; and nobody else is told to leave for it meanwhile.
        """
        if not self._settings.keeps_promises:
            return
        for turn in self._kept():
            queue = turn.nomination.waiting.queue
            if self.snapshot.fits(queue, turn.kept):
                self.decided_on.discharge(queue, turn.kept)
                admitted = turn._replace(outcome="admitted")
                yield admitted
                self._follow(admitted, self._lines[queue])
            else:
                self.last[turn.nomination.waiting.name] = turn

    def _kept(self) -> list[Turn]:
        """Return those who keep what was promised to them, and let it count as used.

        What cannot be kept is forgotten: they stand in their line like anybody.
        """
        nominator = Nominator(self.decided_on, self._axes, self._settings)
        turns = []
        for queue, line in self._lines.items():
            head = line.head()
            if head is None or line.preempting is None:
                continue
            kept = kept_promise(nominator, self.restrained(head), self._promises.get(head.name))
            if kept is None or kept.assignment is None:
                line.preempting = None
                self._promises.pop(head.name, None)
                continue
            usage = kept.assignment.usage
            self.decided_on.charge(queue, usage)
            turns.append(Turn(kept, "preempting", usage))
        return turns

    def _chosen(self) -> dict[WorkloadName, Nomination]:
        """Return those that preempt: they have chosen. Promises are kept without a nomination."""
        if self._settings.keeps_promises:
            return {}
        return {turn.nomination.waiting.name: turn.nomination for turn in self.preempting()}

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(holder.name for holder in self.snapshot.leaving())

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

    def restrained(self, waiting: Waiting) -> Waiting:
        """Return *waiting* with what it must not ask for now."""
        return waiting._replace(restraint=self._restraints.of(waiting))

    def _cycle(self) -> Iterator[Turn]:
        """Yield the turns of all heads, on copies of the trees."""
        cycle = KueueCycle(self.decided_on.copy(), self._axes, self._settings)
        if not self._settings.keeps_promises:
            heads = self._heads(list(self._lines.values()))
            preempting = {line.preempting for line in self._lines.values() if line.preempting}
            return cycle.run(heads, preempting, self._nominated)
        heads = self._heads([line for line in self._lines.values() if line.preempting is None])
        nominator = Nominator(self.snapshot, self._axes, self._settings)
        nominate_now(nominator, self.decided_on, heads, self._nominated)
        return as_of_now(cycle.run(heads, nominated=self._nominated), self.snapshot.copy())

    def _heads(self, lines: list[PendingLine]) -> list[Waiting]:
        return [self.restrained(head) for line in lines if (head := line.head()) is not None]

    def _follow(self, turn: Turn, line: PendingLine) -> None:
        """Let trees and line follow a turn."""
        waiting = turn.nomination.waiting
        self.last[waiting.name] = turn
        match turn.outcome:
            case "admitted":
                del self.last[waiting.name]
                line.admit(waiting.name)
                self._promises.pop(waiting.name, None)
                self._admit(self._holder(turn))
            case "preempting":
                line.preempting = waiting.name
                self._let_give_way(turn)
            case "nofit" | "nocandidates":
                line.set_aside(waiting.name)
                self._promises.pop(waiting.name, None)
            case "skipped" | "deferred":
                pass  # it stays the head, and is asked again if anything changed

    def _admit(self, holder: Holder) -> None:
        self.snapshot.admit(holder)
        if self.decided_on is not self.snapshot:
            self.decided_on.admit(holder)
        if self.snapshot.uses is not None:
            self.snapshot.uses.admit(holder.name, holder.usage)

    def _let_give_way(self, turn: Turn) -> None:
        """Tell those to leave who give way in *turn*, and keep what they leave."""
        for holder in self._tell_targets(turn):
            self.snapshot.let_be_evicted(holder)
            if self.decided_on is not self.snapshot:
                self.decided_on.let_leave(holder)
        if self.decided_on is not self.snapshot:
            self.decided_on.charge(turn.nomination.waiting.queue, turn.kept)
