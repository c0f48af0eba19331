"""Which ClusterQueue loses a workload next, when dominant shares decide.

The way leads from the root to the child with the largest share, cohort by cohort, until it ends at
a queue. A node that borrows nothing is passed over for good, but not the preemptor's queue and the
cohorts above it. The children of each cohort on the way are sorted already, as they were before the
search; what the search changes is in a heap beside them. A victim changes one entry of each cohort
above it, so finding the next queue costs the depth and not the breadth of the tree.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from fairlead.fairness.dominant_share import LEAST_RANK
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.snapshot.share_order import ShareKey, cohort_entry, queue_entry
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload

RulesOut: TypeAlias = Callable[[QueueName, QueueName], bool]
"""Of two siblings, the preemptor's side first: has the other no possible victim?"""

SortedChildren: TypeAlias = Callable[[QueueName, Collection[QueueName]], Sequence[ShareKey]]
"""Returns the children of a cohort in their order; the other names do not count."""


def rules_out_none(_ours: QueueName, _theirs: QueueName) -> bool:
    """Rule out no side: lent quota is reclaimed whatever the shares are."""
    return False


class FairOrder:
    """The queues of one tree in the order of losing workloads, and the candidates left in each."""

    def __init__(
        self,
        snapshot: Snapshot,
        path: list[QueueName],
        candidates: Callable[[QueueName], Sequence[AdmittedWorkload]],
        share_order: SortedChildren,
        moved: Iterable[QueueName] = (),
    ) -> None:
        """Begin at the root; *path* leads from the preemptor's queue up to it.

        *share_order* returns the children of a cohort in order; nodes on the path, and those that
        have *moved*, stand elsewhere than it says.
        """
        self._snapshot = snapshot
        self._candidates = candidates
        self._share_order = share_order
        self._path = frozenset(path)
        self._moved = self._path.union(moved)
        self._queue = path[0]
        self._root = path[-1]
        self._below = dict(zip(path[1:], path, strict=False))  # the child on the way down the path
        self._remaining: dict[QueueName, list[AdmittedWorkload]] = {}
        self._opened: dict[QueueName, _Opened] = {}
        self._changed: dict[QueueName, ShareKey | None] = {}  # replaces the entry at rest
        self._trail = [self._root]  # on the way to the last queue

    def remaining(self, queue: QueueName) -> list[AdmittedWorkload]:
        """Return the candidates left in *queue*, the first one last, to be popped by the caller."""
        remaining = self._remaining.get(queue)
        if remaining is None:
            remaining = self._remaining[queue] = list(reversed(self._candidates(queue)))
        return remaining

    def next(self, rules_out: RulesOut) -> QueueName | None:
        """Return the queue that loses a workload now; None when all are done.

        A whole side that *rules_out* excludes is left at once: visiting all its queues in turn
        would change nothing, and so lead to the same next queue. Cost: O(depth x log children).
        """
        if self._root == self._queue:
            return self._queue if self.remaining(self._queue) else None
        trail = self._trail
        while trail:
            cohort = trail[-1]
            best = self._best(cohort)
            if best is None:
                self.drop(trail.pop())
                continue
            name = best[-1]
            on_path = self._below.get(cohort)
            if on_path is not None and name != on_path and rules_out(on_path, name):
                if self._changed[on_path] is None:
                    self._opened[cohort].close()  # nothing can change the preemptor's side any more
                else:
                    self.drop(name)
            elif name in self._snapshot.rules:
                return name
            else:
                trail.append(name)
        return None

    def drop(self, name: QueueName) -> None:
        """Visit *name*, and nodes below it, no more."""
        self._changed[name] = None

    def refresh(self, queue: QueueName) -> None:
        """Follow that a candidate of *queue*, to which `next` led, was refused or taken."""
        parents = self._snapshot.parents
        name, parent = queue, parents[queue]
        while parent is not None and name != self._root:
            if self._changed.get(name, ()) is not None:
                self._change(name, parent)
            name, parent = parent, parents[parent]
        self._trail = [self._root]

    def _best(self, cohort: QueueName) -> ShareKey | None:
        opened = self._opened.get(cohort) or self._open(cohort)
        entries, position, changed = opened.entries, opened.position, self._changed
        while position < len(entries) and entries[position][-1] in changed:
            position += 1
        opened.position = position
        heap = opened.heap
        while heap and changed[heap[0][-1]] is not heap[0]:
            heappop(heap)
        if position == len(entries):
            return heap[0] if heap else None
        return min(heap[0], entries[position]) if heap else entries[position]

    def _open(self, cohort: QueueName) -> "_Opened":
        opened = self._opened[cohort] = _Opened(self._share_order(cohort, self._moved))
        for name in self._moved:
            if self._snapshot.parents[name] == cohort:
                self._change(name, cohort)
        return opened

    def _change(self, name: QueueName, parent: QueueName) -> None:
        """Put a node where it belongs now."""
        entry = self._changed[name] = self._entry(name)
        if entry is not None:
            heappush(self._opened[parent].heap, entry)

    def _entry(self, name: QueueName) -> ShareKey | None:
        """Return where a node stands among its siblings; None if it is done."""
        tree = self._snapshot.tree
        rank = tree.rank(name)
        # A borrower may have the least rank too, where there is nothing to lend.
        if rank == LEAST_RANK and name not in self._path and not tree.is_borrowing(name):
            return None
        if name not in self._snapshot.rules:
            return cohort_entry(rank, name)
        left = self.remaining(name)
        return queue_entry(rank, name, left[-1], is_own=name == self._queue) if left else None


class _Opened:
    """The children of a cohort to which the way has led."""

    __slots__ = ("entries", "heap", "position")

    def __init__(self, entries: Sequence[ShareKey]) -> None:
        self.entries = entries
        self.position = 0  # earlier entries are done
        self.heap: list[ShareKey] = []  # of changed children, also outdated entries

    def close(self) -> None:
        """Visit no child any more: those left are ruled out as the first one is."""
        self.position = len(self.entries)
        self.heap.clear()
