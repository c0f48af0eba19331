"""The cluster at one moment, kept up to date event by event.

Nothing is rebuilt per cycle: an event adjusts the sums that it touches, so it costs the depth of
the tree and the size of the event, whatever else exists. A trial works on the state itself and is
rolled back exactly (see `journal`). `check_invariants` recomputes everything and compares.

The state accepts facts in any order in which a watch may deliver them: a workload before its
queue, a queue before its parent, a pod on a node not seen yet. What is contradictory (an unknown
workload starts, a pod runs twice, queues form a cycle) is refused with `StateError` and changes
nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import add
from typing import Any

from fairlead.errors import StateError
from fairlead.model import events as ev
from fairlead.model.accounting.journal import ChangeLog, Journal, Mark
from fairlead.model.accounting.node_books import NodeBooks
from fairlead.model.accounting.queue_tree import QueueSums, QueueTree
from fairlead.model.accounting.workload_books import WorkloadBooks
from fairlead.model.axes import Amounts, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.holds import NOTHING_HELD
from fairlead.model.workload import PodKey


class ClusterState:
    """Queues, workloads and nodes with every sum that rules ask for."""

    def __init__(self, resources: Sequence[str], axes: QuotaAxes):
        """Begin with an empty cluster measured on *resources*, its queues on *axes*."""
        self.resources = tuple(resources)
        self.axes = axes
        self.catalogue = Catalogue()
        self.usage: dict[QueueName, tuple[int, ...]] = {}
        self.holds = NOTHING_HELD  # while a plan is made, what its caller holds back
        self.moment = 0  # grows with every change, and with every undoing of some
        self.layout = ChangeLog[str]()  # of what seldom changes: the queues, the catalogue
        self._journal = Journal()
        self._tree = QueueTree(self._journal, len(axes), self.layout)
        self.queues = self._tree.queues
        self.sums = self._tree.sums
        self.books = NodeBooks(self._journal, self.resources)
        self.nodes = self.books.nodes
        self.capacity = self.books.capacity
        self._work = work = WorkloadBooks(
            self._journal, self.resources, axes, self._tree, self.books
        )
        self.workloads = work.workloads
        self.runs = work.runs
        self.memories = work.memories
        self.promised = work.promised
        self.repelling = work.repelling
        self.touched = work.touched
        self._handlers: dict[type, Callable[[Any], None]] = {
            **work.handlers(),
            ev.NodeAdded: lambda event: self.books.add(event.node),
            ev.NodeChanged: lambda event: self.books.change(event.node),
            ev.NodeRemoved: lambda event: self.books.remove(event.node),
            ev.ForeignPodChanged: lambda event: self.books.change_foreign(event.pod),
            ev.ForeignPodRemoved: lambda event: self.books.remove_foreign(event.pod),
            ev.QueueChanged: self._queue_changed,
            ev.QueueRemoved: self._queue_removed,
            ev.UsageChanged: self._usage_changed,
            ev.CatalogueChanged: self._catalogue_changed,
            ev.HoldsChanged: self._holds_changed,
        }

    def children(self, queue: QueueName | None) -> list[QueueName]:
        """Return the queues just below *queue* (None: the top level), by name."""
        return self._tree.children(queue)

    def path(self, queue: QueueName) -> list[QueueName]:
        """Return *queue* and its ancestors, upward, as far as they exist."""
        return self._tree.path(queue)

    def tree_order(self) -> list[QueueName]:
        """Return every queue that hangs on the top level, parents before children, by name."""
        return self._tree.in_order()

    def queued(self, queue: QueueName) -> list[WorkloadName]:
        """Return the workloads, waiting or running, submitted to *queue*, by name."""
        return sorted(self._work.queued.of(queue))

    def waiting(self, queue: QueueName) -> list[WorkloadName]:
        """Return the workloads of *queue* of which some pod has no place, by name."""
        return sorted(self._work.waiting.of(queue))

    def waited_for(self) -> list[QueueName]:
        """Return the queues, known or not, for which workloads wait, by name."""
        return sorted(self._work.waiting.queues())

    def has_waiting(self) -> bool:
        """Return whether a pod of any workload has no place."""
        return any(True for _ in self._work.waiting.queues())

    def requested(self, queue: QueueName) -> Amounts:
        """Return what is allocated to *queue* or waits in it, on the quota axes."""
        sums = self.sums[queue]
        waiting = self.axes.charge(self.resources, tuple(sums.pending))
        return tuple(map(add, sums.allocated, waiting))

    def total(self) -> Amounts:
        """Return the capacity of the cluster on the quota axes."""
        return self.axes.charge(self.resources, tuple(self.capacity))

    def mark(self) -> Mark:
        """Remember this moment, to roll back to; marks nest."""
        return self._journal.mark()

    def roll_back(self, mark: Mark) -> None:
        """Undo everything since *mark*, exactly."""
        self.moment += self._journal.roll_back(mark)

    def keep(self, mark: Mark) -> None:
        """Let everything since *mark* stand."""
        self._journal.keep(mark)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo at the end whatever is done inside."""
        mark = self.mark()
        try:
            yield
        finally:
            self.roll_back(mark)

    def apply(self, event: ev.Event) -> None:
        """Take in what happened. Refuses a contradiction with `StateError`, changing nothing."""
        self.moment += 1
        self._handlers[type(event)](event)

    def _queue_changed(self, event: ev.QueueChanged) -> None:
        own = QueueSums.zero(len(self.axes), len(self.resources))
        if event.queue.name not in self.queues:
            for name in self._work.queued.of(event.queue.name):
                own.include(self._work.sums_of(self.workloads[name]))
        self._tree.change(event.queue, own)

    def _queue_removed(self, event: ev.QueueRemoved) -> None:
        self._tree.remove(event.queue)

    def _usage_changed(self, event: ev.UsageChanged) -> None:
        if any(len(usage) != len(self.axes) for usage in event.usage.values()):
            raise StateError("usage needs one entry per axis")
        self._journal.put(vars(self), "usage", dict(event.usage))

    def _catalogue_changed(self, event: ev.CatalogueChanged) -> None:
        self._journal.put(vars(self), "catalogue", event.catalogue)
        self._journal.touch(self.layout, "catalogue")

    def _holds_changed(self, event: ev.HoldsChanged) -> None:
        for name in sorted(event.holds.workloads & self.workloads.keys()):
            self._journal.touch(self.touched, name)
        self._journal.put(vars(self), "holds", event.holds)


def pods_on_node(state: ClusterState, node: str) -> Iterator[tuple[PodKey, bool]]:
    """Yield each pod of ours on *node* once, and whether it is on its way out.

    A pod with a reservation is there already. Cost: one look at each pod.
    """
    use, runs = state.books.use(node), state.runs
    for key in use.pods:
        name, pod = key
        yield key, runs[name].pods[pod].phase == "leaving"
    for key in use.departing:
        yield key, True
