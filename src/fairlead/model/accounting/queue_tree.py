"""The queues of a state, how they hang together, and the sums over everything below each.

Queues may arrive in any order: one whose parent is not there yet is an orphan, which keeps its
sums and does not hang on the top level until the parent appears.
"""

from operator import neg
from typing import TypeAlias

import msgspec

from fairlead.errors import StateError
from fairlead.model.accounting.journal import ChangeLog, Journal
from fairlead.model.axes import QueueName
from fairlead.model.queue import Queue


class QueueSums(msgspec.Struct):
    """Sums over a queue and everything below it.

    ``allocated``, ``non_preemptible`` and ``leaving`` are on the quota axes; ``pending`` is on the
    resources, because what waits has no flavor yet. Pods that are leaving are in ``leaving`` only.
    """

    allocated: list[int]
    non_preemptible: list[int]
    leaving: list[int]
    pending: list[int]

    @classmethod
    def zero(cls, axes: int, resources: int) -> "QueueSums":
        """Return the sums of a queue with nothing in it."""
        return cls([0] * axes, [0] * axes, [0] * axes, [0] * resources)

    def vectors(self) -> tuple[list[int], ...]:
        """Return the four vectors, always in this order."""
        return (self.allocated, self.non_preemptible, self.leaving, self.pending)

    def include(self, more: "QueueSums") -> None:
        """Add *more*, in place."""
        for vector, amounts in zip(self.vectors(), more.vectors(), strict=True):
            vector[:] = map(sum, zip(vector, amounts, strict=True))

    def negative(self) -> "QueueSums":
        """Return the sums that take these away."""
        return QueueSums(*(list(map(neg, vector)) for vector in self.vectors()))


_WayUp: TypeAlias = tuple[tuple[QueueName, ...], tuple[QueueSums, ...]]
"""A queue and its ancestors, as far as they exist, and the sums of each."""


class QueueTree:
    """Queues by name, with their children and their sums. Every change goes through the journal."""

    def __init__(self, journal: Journal, axes: int, layout: ChangeLog[str]):
        """Start empty; queues have vectors of *axes* entries. *layout* notes every change."""
        self.queues: dict[QueueName, Queue] = {}
        self.sums: dict[QueueName, QueueSums] = {}
        self._journal = journal
        self._axes = axes
        self._children: dict[QueueName | None, dict[QueueName, None]] = {}
        self._layout = layout
        # Every event of a workload goes this way, and queues seldom change.
        self._ways_up: dict[QueueName, _WayUp] = {}
        self._ways_found = layout.moment

    def children(self, queue: QueueName | None) -> list[QueueName]:
        """Return the queues just below *queue* (None: the top level), by name."""
        return sorted(self._children.get(queue, ()))

    def path(self, queue: QueueName) -> list[QueueName]:
        """Return *queue* and its ancestors, upward, as far as they exist."""
        return list(self._way_up(queue)[0])

    def sums_upward(self, queue: QueueName) -> tuple[QueueSums, ...]:
        """Return the sums of *queue* and of its ancestors, as far as they exist."""
        if self._ways_found == self._layout.moment and queue in self._ways_up:
            return self._ways_up[queue][1]  # which is asked for most often
        return self._way_up(queue)[1]

    def in_order(self) -> list[QueueName]:
        """Return every queue that hangs on the top level, parents before children, by name."""
        found: list[QueueName] = []
        stack = self.children(None)[::-1]
        while stack:
            queue = stack.pop()
            found.append(queue)
            stack.extend(reversed(self.children(queue)))
        return found

    def change(self, queue: Queue, workloads: QueueSums) -> None:
        """Add or replace *queue*; *workloads* are the sums of its own, for one that is new."""
        self._check(queue)
        old = self.queues.get(queue.name)
        if old is None:
            for child in self._children.get(queue.name, ()):
                workloads.include(self.sums[child])
            self._journal.put(self.sums, queue.name, workloads)
            self._attach(queue)
        elif old.parent != queue.parent:
            self._detach(old)
            self._attach(queue)
        self._journal.put(self.queues, queue.name, queue)
        self._journal.touch(self._layout, "queues")

    def remove(self, name: QueueName) -> None:
        """Take a queue away; its children are orphans."""
        old = self.queues.get(name)
        if old is None:
            raise StateError(f"queue {name} is not known")
        self._detach(old)
        self._journal.drop(self.queues, name)
        self._journal.drop(self.sums, name)
        self._journal.touch(self._layout, "queues")

    def add_sums(self, queue: QueueName, change: QueueSums) -> None:
        """Add *change* to the sums of *queue* and of all above it."""
        for sums in self.sums_upward(queue):
            for vector, amounts in zip(sums.vectors(), change.vectors(), strict=True):
                self._journal.add(vector, amounts)

    def _way_up(self, queue: QueueName) -> _WayUp:
        if self._ways_found != self._layout.moment:
            self._ways_up.clear()
            self._ways_found = self._layout.moment
        return self._ways_up.get(queue) or self._find_way_up(queue)

    def _find_way_up(self, queue: QueueName) -> _WayUp:
        names: list[QueueName] = []
        at: QueueName | None = queue
        while at is not None and at in self.queues:
            names.append(at)
            at = self.queues[at].parent
        way = tuple(names), tuple([self.sums[name] for name in names])
        if names:  # there may be any number of names of queues that do not exist
            self._ways_up[queue] = way
        return way

    def _check(self, queue: Queue) -> None:
        vectors = (
            queue.weights,
            queue.guaranteed,
            queue.ceiling,
            queue.borrow_limit,
            queue.lend_limit,
        )
        if any(len(vector) != self._axes for vector in vectors):
            raise StateError(f"queue {queue.name} needs one entry per axis, {self._axes} of each")
        ancestor = queue.parent
        while ancestor is not None:  # one that is named but not there yet counts as well
            if ancestor == queue.name:
                raise StateError(f"queue {queue.name} would be its own ancestor")
            known = self.queues.get(ancestor)
            ancestor = known.parent if known else None

    def _attach(self, queue: Queue) -> None:
        if queue.parent not in self._children:
            self._journal.put(self._children, queue.parent, {})
        self._journal.put(self._children[queue.parent], queue.name, None)
        if queue.parent is not None:
            self.add_sums(queue.parent, self.sums[queue.name])

    def _detach(self, queue: Queue) -> None:
        siblings = self._children[queue.parent]
        self._journal.drop(siblings, queue.name)
        if not siblings:
            self._journal.drop(self._children, queue.parent)
        if queue.parent is not None:
            self.add_sums(queue.parent, self.sums[queue.name].negative())
