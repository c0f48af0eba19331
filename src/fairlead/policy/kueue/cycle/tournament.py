"""Whose turn is next under fair sharing: a tournament of heads, cohort by cohort up to the root.

In a cohort meet the heads of its ClusterQueues and the winners of its child cohorts. Each is judged
by how its side, the child through which it comes, would stand with the head's usage; the best one
goes on to the cohort above. So a cohort is judged by its winner alone.

A side's standing depends on what is used inside it and on nothing else that changes. When the use
of one ClusterQueue changes, or its head has had its turn, only the sides on its way to the root are
judged again, and every other entry in the lines of the cohorts stays as it is.
"""

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import TypeAlias

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.order import Head, OrderGates, Seniority
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Usage

Key: TypeAlias = tuple[bool, bool, bool, float, int, int, WorkloadName]


class _Entry(msgspec.Struct, frozen=True, gc=False, order=True):
    """The head that stands for a side, as its parent's line has it; lesser keys are better."""

    key: Key
    side: QueueName
    head: Head
    noticed: Usage  # what the parent would use more; entries of 0 count as asked for


class Tournament:
    """The order in which heads have their turns, one ClusterQueue tree after the other by name.

    Between two turns the use of ClusterQueues may change: say so with `changed`. Of equal heads
    the first by name wins, so the order does not depend on how anything is listed.
    """

    def __init__(self, snapshot: Snapshot, heads: Iterable[Head], gates: OrderGates) -> None:
        """Judge every head once, at most one for each ClusterQueue, and find the first winners.

        Cost: O(heads x (axes + depth) + n log n).
        """
        self._tree = snapshot.tree
        self._parents = snapshot.parents
        self._gates = gates
        self._ties: dict[QueueName, tuple[bool, Seniority]] = {}  # what counts first, and last
        self._heads: dict[QueueName, Head] = {}
        self._entries: dict[QueueName, _Entry] = {}  # the valid one of each side that has one
        self._lines: dict[QueueName, list[_Entry]] = defaultdict(list)  # heaps, also with old ones
        self._changed: set[QueueName] = set()
        self._roots = snapshot.roots
        cohorts: set[QueueName] = set()
        for head in heads:
            self._take_in(head)
            self._enter(head.queue, head, head.usage)
            cohorts.update(snapshot.path(head.queue)[1:])
        for cohort in sorted(cohorts, key=snapshot.heights.__getitem__):
            self._settle(cohort)

    def enter(self, head: Head) -> None:
        """Let one more compete, the only one of its ClusterQueue."""
        self._take_in(head)
        self._changed.add(head.queue)

    def _take_in(self, head: Head) -> None:
        assert head.queue not in self._heads, f"{head.queue} has two heads"
        self._heads[head.queue] = head
        self._ties[head.queue] = self._gates.is_behind(head), self._gates.seniority(head)

    def pop(self) -> WorkloadName | None:
        """Return the next head; None if all had their turn.

        Cost: O(depth x (axes + log n)) for it and each ClusterQueue that changed since.
        """
        for queue in self._changed:
            self._judge_again(queue)
        self._changed.clear()
        for root in self._roots:
            winner = self._entries.get(root)
            if winner is not None:
                head = winner.head
                del self._heads[head.queue]
                self.changed(head.queue)
                return head.name
        return None

    def changed(self, queue: QueueName) -> None:
        """Take in that the use of *queue* is another; of the last winner it is expected."""
        self._changed.add(queue)

    def is_between_rounds(self) -> bool:
        """Return True: whoever enters, and whenever, competes with all who are there."""
        return True

    def _judge_again(self, queue: QueueName) -> None:
        """Put right what depends on the head and the use of a ClusterQueue, from it to the root."""
        head = self._heads.get(queue)
        if head is None:
            self._entries.pop(queue, None)
        else:
            self._enter(queue, head, head.usage)
        cohort = self._parents[queue]
        while cohort is not None:
            self._settle(cohort)
            cohort = self._parents[cohort]

    def _settle(self, cohort: QueueName) -> None:
        """Let the best of a cohort's line stand for it above."""
        line, entries = self._lines[cohort], self._entries
        while line and entries.get(line[0].side) is not line[0]:
            heappop(line)
        if line:
            self._enter(cohort, line[0].head, line[0].noticed)
        else:
            entries.pop(cohort, None)

    def _enter(self, side: QueueName, head: Head, usage: Usage) -> None:
        """Let *head*, which adds *usage* to *side*, stand for it in the line of the parent."""
        prospect = self._tree.prospect(side, usage)
        borrows = prospect.borrows and self._gates.non_borrowing_first
        is_behind, seniority = self._ties[head.queue]
        entry = _Entry(
            (is_behind, borrows, *prospect.rank, *seniority), side, head, prospect.noticed
        )
        self._entries[side] = entry
        parent = self._parents[side]
        if parent is not None:
            heappush(self._lines[parent], entry)
