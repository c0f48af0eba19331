"""Cycle after cycle in one tree of quota, until a cycle changes nothing any more.

Kueue looks at one head of each ClusterQueue in a cycle, and begins the next at once. What happens
until those who must give way have left is one plan: heads are admitted and the next ones follow,
or they step aside, or they wait for others to leave and stay the first of their queue.
"""

from collections.abc import Iterator
from typing import assert_never

from fairlead.model.axes import WorkloadName
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn
from fairlead.policy.kueue.cycle.plain_rounds import PlainRounds
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.pending.queue import PendingQueue


class TreeRounds(PlainRounds):
    """The cycles of one tree, as Kueue goes through them."""

    _nominated: dict[WorkloadName, Nomination]  # as they would be now

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the snapshot follows it.

        Ends, because nobody leaves meanwhile: every cycle but the last admits somebody, tells
        somebody to leave who was not told before, or sets somebody aside for good. Cost: a cycle
        over the heads of the tree for each of these, at most; but only heads that are new are
        nominated, unless something changed.
        """
        self._nominated = {}
        goes_on = True
        while goes_on and not self.has_started_enough():
            has_changed = is_retried = goes_on = False
            promises = self._promises.copy()
            for turn in list(self._cycle()):
                if turn.outcome == "admitted" or self.newly_evicted(turn):
                    has_changed = True
                    yield turn
                line = self._lines[turn.nomination.pending.queue]
                before = line.head()
                self._follow(turn, line)
                head = line.head()
                goes_on |= head is not None and head.name not in self.last
                if turn.outcome == "nocandidates" and head is not before:
                    has_changed = True  # what was kept for it others can have now
                is_retried |= turn.outcome not in ("admitted", "preempting") and head is not None
            if has_changed or self._promises != promises:
                self._nominated = self.chosen()
            goes_on |= has_changed and is_retried

    def _cycle(self) -> Iterator[Turn]:
        lines = self._lines.values()
        heads = [self.restrained(head) for line in lines if (head := line.head()) is not None]
        preempting = {line.preempting for line in lines if line.preempting}
        cycle = KueueCycle(self.snapshot.copy(), self._axes, self._settings)
        return cycle.run(heads, preempting, self._nominated)

    def _follow(self, turn: Turn, line: PendingQueue) -> None:
        """Let snapshot and line follow a turn."""
        pending = turn.nomination.pending
        self.last[pending.name] = turn
        match turn.outcome:
            case "admitted":
                del self.last[pending.name]
                line.admit(pending.name)
                self._promises.pop(pending.name, None)
                admitted = self._holder(turn)
                self.snapshot.admit(admitted)
                if self.snapshot.local_usage is not None:
                    self.snapshot.local_usage.admit(admitted.name, admitted.usage)
            case "preempting":
                line.preempting = pending.name
                for admitted in self._evict_targets(turn):
                    self.snapshot.mark_evicted(admitted)
            case "nofit" | "nocandidates":
                line.mark_inadmissible(pending.name)
                self._promises.pop(pending.name, None)
            case "skipped" | "deferred":
                pass  # it stays the head, and is asked again if anything changed
            case _:
                assert_never(turn.outcome)
