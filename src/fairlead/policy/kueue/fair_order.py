"""Which ClusterQueue is asked next for a victim, when dominant shares decide.

The way leads from the root to the child with the largest share, cohort by cohort, until it ends at
a queue. Whoever borrows nothing is passed over for good, but not the claimant's queue and those
above it. Every cohort keeps its children in a heap, and a victim changes one entry of each cohort
above it, so finding the next queue costs the depth and not the breadth of the tree.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from fairlead.fairness.dominant_share import LEAST_RANK
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.holder import Holder
from fairlead.policy.kueue.snapshot import Snapshot

Tie: TypeAlias = tuple[bool, bool, int, int, str]
Entry: TypeAlias = tuple[bool, float, bool, Tie, QueueName]
"""Sorts the largest share first, then cohorts, and then by what decides between equals."""

Hopeless: TypeAlias = Callable[[QueueName, QueueName], bool]
"""Of two siblings, the one above the claimant first: can nobody below the other be a victim?"""


class FairOrder:
    """The queues of one tree in the order of asking, and who is left to be asked in each."""

    def __init__(
        self,
        snapshot: Snapshot,
        path: list[QueueName],
        candidates: Callable[[QueueName], list[Holder]],
    ) -> None:
        """Begin with nobody asked; *path* leads from the claimant's queue up to the root."""
        self._snapshot = snapshot
        self._candidates = candidates
        self._path = frozenset(path)
        self._queue, self._root = path[0], path[-1]
        self._below = dict(zip(path[1:], path, strict=False))  # the child on the way down the path
        self._lines: dict[QueueName, list[Holder]] = {}
        self._heaps: dict[QueueName, list[Entry]] = {}
        self._entries: dict[QueueName, Entry] = {}  # the one entry of each child that counts

    def line(self, queue: QueueName) -> list[Holder]:
        """Return who is left in *queue*, the first one last, to be popped by the caller."""
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._candidates(queue)[::-1]
        return line

    def next(self, hopeless: Hopeless) -> QueueName | None:
        """Return the queue to ask now; None when all are done.

        A whole side that *hopeless* rules out is left at once: asking all its queues in turn would
        change nothing, and so lead to the same next queue. Cost: O(depth x log children).
        """
        if self._root == self._queue:
            return self._queue if self.line(self._queue) else None
        trail = [self._root]
        while trail:
            cohort = trail[-1]
            best = self._best(cohort)
            if best is None:
                self.drop(trail.pop())
                continue
            name = best[-1]
            on_path = self._below.get(cohort)
            if on_path is not None and name != on_path and hopeless(on_path, name):
                self.drop(name)
            elif name in self._snapshot.rules:
                return name
            else:
                trail.append(name)
        return None

    def drop(self, name: QueueName) -> None:
        """Ask nobody in *name* or below it again."""
        self._entries.pop(name, None)

    def refresh(self, queue: QueueName) -> None:
        """Take note that somebody of *queue*, to which `next` led, was asked or taken away."""
        parents = self._snapshot.parents
        name, parent = queue, parents[queue]
        while parent is not None:
            old = self._entries.get(name)
            if old is not None:
                new = self._entry(name)
                if new is None:
                    self.drop(name)
                elif new != old:
                    self._entries[name] = new
                    heappush(self._heaps[parent], new)
            name, parent = parent, parents[parent]

    def _best(self, cohort: QueueName) -> Entry | None:
        heap = self._heaps.get(cohort)
        if heap is None:
            heap = self._heaps[cohort] = self._children(cohort)
        while heap:
            if self._entries.get(heap[0][-1]) is heap[0]:
                return heap[0]
            heappop(heap)
        return None

    def _children(self, cohort: QueueName) -> list[Entry]:
        heap = []
        for child in self._snapshot.children.get(cohort, ()):
            entry = self._entry(child)
            if entry is not None:
                self._entries[child] = entry
                heap.append(entry)
        heapify(heap)
        return heap

    def _entry(self, name: QueueName) -> Entry | None:
        """Return where a node stands among its siblings; None if it is done."""
        tree = self._snapshot.tree
        rank = weightless, share = tree.rank(name)
        # Who borrows may have the least rank too, where there is nothing to lend.
        if rank == LEAST_RANK and name not in self._path and not tree.borrowed(name):
            return None
        if name not in self._snapshot.rules:
            return not weightless, -share, False, (False, False, 0, 0, name), name
        line = self.line(name)
        if not line:
            return None
        first = line[-1]
        tie = (
            not first.is_evicted,
            name == self._queue,
            first.priority,
            -first.reserved_ms,
            first.name,
        )
        return not weightless, -share, True, tie, name
