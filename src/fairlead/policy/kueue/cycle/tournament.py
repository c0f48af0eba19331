"""The order of turns under fair sharing: a tournament of heads, cohort by cohort up to the root.

In a cohort the heads of its ClusterQueues meet the winners of its child cohorts. Each is judged by
the share that its side, the child through which it comes, would have with the head's usage; the
best one goes on to the cohort above. So a cohort is judged by its winner alone.

The share of a side depends on what is used inside it and on nothing else that changes. When the
usage of one ClusterQueue changes, or its head has had its turn, only the sides on its way to the
root are judged again, and every other entry in the heaps of the cohorts stays as it is.
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
    """The head that represents a side in the heap of its parent; lesser keys are better."""

    key: Key
    side: QueueName
    head: Head
    noticed: Usage  # what the parent would use more; a 0 still counts as a request


class Tournament:
    """The order in which heads have their turns, one cohort tree after the other by name.

    Between two turns the usage of ClusterQueues may change: say so with `changed`. Of equal heads
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
        self._heaps: dict[QueueName, list[_Entry]] = defaultdict(list)  # also with outdated entries
        self._changed: set[QueueName] = set()
        self._roots = snapshot.roots
        cohorts: set[QueueName] = set()
        for head in heads:
            self._register(head)
            self._enter(head.queue, head, head.usage)
            cohorts.update(snapshot.path(head.queue)[1:])
        for cohort in sorted(cohorts, key=snapshot.heights.__getitem__):
            self._settle(cohort)

    def enter(self, head: Head) -> None:
        """Let one more head compete, the only one of its ClusterQueue."""
        self._register(head)
        self._changed.add(head.queue)

    def _register(self, head: Head) -> None:
        assert head.queue not in self._heads, f"{head.queue} has two heads"
        self._heads[head.queue] = head
        self._ties[head.queue] = self._gates.is_behind(head), self._gates.seniority(head)

    def pop(self) -> WorkloadName | None:
        """Return the next head; None if all had their turn.

        Cost: O(depth x (axes + log n)) for it and each ClusterQueue that changed since.
        """
        for queue in self._changed:
            self._update(queue)
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
        """Follow a change of the usage of *queue*; for the last winner it is implied."""
        self._changed.add(queue)

    def is_between_rounds(self) -> bool:
        """Return True: a head competes with all others whenever it enters."""
        return True

    def _update(self, queue: QueueName) -> None:
        """Judge the sides again from a ClusterQueue to the root."""
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
        """Let the best entry of a cohort represent it above."""
        heap, entries = self._heaps[cohort], self._entries
        while heap and entries.get(heap[0].side) is not heap[0]:
            heappop(heap)
        if heap:
            self._enter(cohort, heap[0].head, heap[0].noticed)
        else:
            entries.pop(cohort, None)

    def _enter(self, side: QueueName, head: Head, usage: Usage) -> None:
        """Let *head*, which adds *usage* to *side*, represent it in the heap of the parent."""
        prospect = self._tree.prospect(side, usage)
        borrows = prospect.borrows and self._gates.non_borrowing_first
        is_behind, seniority = self._ties[head.queue]
        entry = _Entry(
            (is_behind, borrows, *prospect.rank, *seniority), side, head, prospect.noticed
        )
        self._entries[side] = entry
        parent = self._parents[side]
        if parent is not None:
            heappush(self._heaps[parent], entry)
