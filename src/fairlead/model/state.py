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
from operator import neg
from typing import Any

import msgspec

from fairlead.errors import StateError
from fairlead.model import events as ev
from fairlead.model.axes import Amounts, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.journal import Journal, Mark
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.queue_sums import QueueSums
from fairlead.model.workload import PodId, Workload


class Placed(msgspec.Struct, frozen=True):
    """Where a pod runs; leaving: told to stop, and still holding its node."""

    node: str | None
    leaving: bool = False


class Run(msgspec.Struct, kw_only=True):
    """What of a workload has a place. ``charges`` is what one pod of each set costs its queue."""

    pods: dict[PodId, Placed]
    charges: tuple[Amounts, ...]
    flavors: tuple[dict[str, str], ...]
    started_ms: int


class ClusterState:
    """Queues, workloads and nodes with every sum that rules ask for."""

    def __init__(self, resources: Sequence[str], axes: QuotaAxes):
        """Begin with an empty cluster measured on *resources*, its queues on *axes*."""
        self.resources = tuple(resources)
        self.axes = axes
        self.catalogue = Catalogue()
        self.queues: dict[QueueName, Queue] = {}
        self.workloads: dict[WorkloadName, Workload] = {}
        self.nodes: dict[str, Node] = {}
        self.runs: dict[WorkloadName, Run] = {}
        self.usage: dict[QueueName, tuple[int, ...]] = {}
        self.sums: dict[QueueName, QueueSums] = {}
        self.node_held: dict[str, list[int]] = {}
        self.capacity: list[int] = [0] * len(self.resources)
        self._children: dict[QueueName | None, dict[QueueName, None]] = {None: {}}
        self._queued: dict[QueueName, dict[WorkloadName, None]] = {}
        self._journal = Journal()
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.WorkloadAdded: self._workload_added,
            ev.WorkloadStarted: self._workload_started,
            ev.WorkloadLeaving: self._workload_leaving,
            ev.WorkloadStopped: self._workload_stopped,
            ev.WorkloadFinished: self._workload_gone,
            ev.WorkloadRemoved: self._workload_gone,
            ev.NodeAdded: self._node_added,
            ev.NodeChanged: self._node_changed,
            ev.NodeRemoved: self._node_removed,
            ev.QueueChanged: self._queue_changed,
            ev.QueueRemoved: self._queue_removed,
            ev.UsageChanged: self._usage_changed,
            ev.CatalogueChanged: self._catalogue_changed,
        }

    def children(self, queue: QueueName | None) -> list[QueueName]:
        """Return the queues just below *queue* (None: the top level), by name."""
        return sorted(self._children.get(queue, ()))

    def is_leaf(self, queue: QueueName) -> bool:
        """Return whether *queue* has no queues below it."""
        return not self._children.get(queue)

    def path(self, queue: QueueName) -> list[QueueName]:
        """Return *queue* and its ancestors, upward, as far as they exist."""
        found: list[QueueName] = []
        at: QueueName | None = queue
        while at is not None and at in self.queues:
            found.append(at)
            at = self.queues[at].parent
        return found

    def tree_order(self) -> list[QueueName]:
        """Return every queue that hangs on the top level, parents before children, by name."""
        found: list[QueueName] = []
        stack = self.children(None)[::-1]
        while stack:
            queue = stack.pop()
            found.append(queue)
            stack.extend(reversed(self.children(queue)))
        return found

    def queued(self, queue: QueueName) -> list[WorkloadName]:
        """Return the workloads, waiting or running, submitted to *queue*, by name."""
        return sorted(self._queued.get(queue, ()))

    def requested(self, queue: QueueName) -> Amounts:
        """Return what is allocated to *queue* or waits in it, on the quota axes."""
        sums = self.sums[queue]
        waiting = self.axes.charge(self.resources, tuple(sums.pending))
        return tuple(a + w for a, w in zip(sums.allocated, waiting, strict=True))

    def total(self) -> Amounts:
        """Return the capacity of the cluster on the quota axes."""
        return self.axes.charge(self.resources, tuple(self.capacity))

    def mark(self) -> Mark:
        """Remember this moment, to roll back to; marks nest."""
        return self._journal.mark()

    def roll_back(self, mark: Mark) -> None:
        """Undo everything since *mark*, exactly."""
        self._journal.roll_back(mark)

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
        self._handlers[type(event)](event)

    def _workload_added(self, event: ev.WorkloadAdded) -> None:
        workload = event.workload
        if workload.name in self.workloads:
            raise StateError(f"workload {workload.name} was added before")
        self._journal.put(self.workloads, workload.name, workload)
        if workload.queue not in self._queued:
            self._journal.put(self._queued, workload.queue, {})
        self._journal.put(self._queued[workload.queue], workload.name, None)
        path = self.path(workload.queue)
        self._add_pending(workload, path, [pod_set.count for pod_set in workload.pod_sets], 1)

    def _workload_started(self, event: ev.WorkloadStarted) -> None:
        workload = self._known(event.workload)
        run = self.runs.get(workload.name)
        self._check_start(workload, run, event)
        if run is None:
            run = self._new_run(workload, event)
            self._journal.put(self.runs, workload.name, run)
        for placement in event.placements:
            self._journal.put(run.pods, placement.pod, Placed(placement.node))
            self._hold(placement.node, workload, placement.pod, 1)
        counts = _count_by_set(workload, [placement.pod for placement in event.placements])
        path = self.path(workload.queue)
        self._add_allocated(workload, path, _cost(run, counts))
        self._add_pending(workload, path, counts, -1)

    def _workload_leaving(self, event: ev.WorkloadLeaving) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        if any(run.pods[pod].leaving for pod in event.pods):
            raise StateError(f"a pod of {workload.name} was told to stop twice")
        for pod in event.pods:
            self._journal.put(run.pods, pod, Placed(run.pods[pod].node, leaving=True))
        cost = _cost(run, _count_by_set(workload, event.pods))
        path = self.path(workload.queue)
        self._add_allocated(workload, path, _negative(cost))
        for queue in path:
            self._journal.add(self.sums[queue].leaving, cost)

    def _workload_stopped(self, event: ev.WorkloadStopped) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        path = self.path(workload.queue)
        self._release(workload, path, run, event.pods)
        self._add_pending(workload, path, _count_by_set(workload, event.pods), 1)

    def _workload_gone(self, event: ev.WorkloadFinished | ev.WorkloadRemoved) -> None:
        workload = self._known(event.workload)
        run = self.runs.get(workload.name)
        placed = tuple(run.pods) if run else ()
        path = self.path(workload.queue)
        if run:
            self._release(workload, path, run, placed)
        running = _count_by_set(workload, placed)
        left = [s.count - n for s, n in zip(workload.pod_sets, running, strict=True)]
        self._add_pending(workload, path, left, -1)
        self._journal.drop(self._queued[workload.queue], workload.name)
        self._journal.drop(self.workloads, workload.name)

    def _node_added(self, event: ev.NodeAdded) -> None:
        if event.node.name in self.nodes:
            raise StateError(f"node {event.node.name} was added before")
        self._journal.put(self.nodes, event.node.name, event.node)
        self._journal.add(self.capacity, event.node.offered())

    def _node_changed(self, event: ev.NodeChanged) -> None:
        old = self._known_node(event.node.name)
        self._journal.put(self.nodes, event.node.name, event.node)
        self._journal.add(self.capacity, _negative(old.offered()))
        self._journal.add(self.capacity, event.node.offered())

    def _node_removed(self, event: ev.NodeRemoved) -> None:
        old = self._known_node(event.node)
        self._journal.drop(self.nodes, event.node)
        self._journal.add(self.capacity, _negative(old.offered()))

    def _queue_changed(self, event: ev.QueueChanged) -> None:
        queue = event.queue
        self._check_queue(queue)
        old = self.queues.get(queue.name)
        if old is None:
            self._journal.put(self.sums, queue.name, self._sums_below(queue.name))
            self._attach(queue)
        elif old.parent != queue.parent:
            self._detach(old)
            self._attach(queue)
        self._journal.put(self.queues, queue.name, queue)

    def _queue_removed(self, event: ev.QueueRemoved) -> None:
        old = self.queues.get(event.queue)
        if old is None:
            raise StateError(f"queue {event.queue} is not known")
        self._detach(old)
        self._journal.drop(self.queues, event.queue)
        self._journal.drop(self.sums, event.queue)

    def _usage_changed(self, event: ev.UsageChanged) -> None:
        for queue, usage in event.usage.items():
            self._journal.put(self.usage, queue, usage)

    def _catalogue_changed(self, event: ev.CatalogueChanged) -> None:
        self._journal.put(vars(self), "catalogue", event.catalogue)

    def _known(self, name: WorkloadName) -> Workload:
        workload = self.workloads.get(name)
        if workload is None:
            raise StateError(f"workload {name} is not known")
        return workload

    def _known_node(self, name: str) -> Node:
        node = self.nodes.get(name)
        if node is None:
            raise StateError(f"node {name} is not known")
        return node

    def _running(self, workload: Workload, pods: Sequence[PodId]) -> Run:
        run = self.runs.get(workload.name)
        if run is None or len(set(pods)) != len(pods) or not all(pod in run.pods for pod in pods):
            raise StateError(f"a pod of {workload.name} was to stop that does not run")
        return run

    def _check_start(self, workload: Workload, run: Run | None, event: ev.WorkloadStarted) -> None:
        pods = [placement.pod for placement in event.placements]
        running = run.pods if run else {}
        if len(set(pods)) != len(pods) or any(pod in running for pod in pods):
            raise StateError(f"a pod of {workload.name} was started twice")
        if not all(_has_pod(workload, pod) for pod in pods):
            raise StateError(f"a pod of {workload.name} was started that it does not have")
        if run and event.flavors and event.flavors != run.flavors:
            raise StateError(f"{workload.name} runs already with other flavors")

    def _new_run(self, workload: Workload, event: ev.WorkloadStarted) -> Run:
        flavors = event.flavors or ({},) * len(workload.pod_sets)
        charges = tuple(
            self.axes.charge(self.resources, pod_set.requests, given)
            for pod_set, given in zip(workload.pod_sets, flavors, strict=True)
        )
        return Run(pods={}, charges=charges, flavors=flavors, started_ms=event.at_ms)

    def _release(
        self, workload: Workload, path: Sequence[QueueName], run: Run, pods: Sequence[PodId]
    ) -> None:
        """Take the places of *pods* away; the caller says whether they wait again."""
        leaving = [pod for pod in pods if run.pods[pod].leaving]
        staying = [pod for pod in pods if not run.pods[pod].leaving]
        for pod in pods:
            self._hold(run.pods[pod].node, workload, pod, -1)
            self._journal.drop(run.pods, pod)
        if staying:
            cost = _cost(run, _count_by_set(workload, staying))
            self._add_allocated(workload, path, _negative(cost))
        if leaving:
            cost = _negative(_cost(run, _count_by_set(workload, leaving)))
            for queue in path:
                self._journal.add(self.sums[queue].leaving, cost)
        if not run.pods:
            self._journal.drop(self.runs, workload.name)

    def _hold(self, node: str | None, workload: Workload, pod: PodId, sign: int) -> None:
        """Charge the node; one that is not known yet is charged all the same."""
        if node is None:
            return
        if node not in self.node_held:
            self._journal.put(self.node_held, node, [0] * len(self.resources))
        requests = workload.pod_sets[pod.pod_set].requests
        self._journal.add(self.node_held[node], requests if sign > 0 else _negative(requests))

    def _add_allocated(self, workload: Workload, path: Sequence[QueueName], cost: Amounts) -> None:
        for queue in path:
            sums = self.sums[queue]
            self._journal.add(sums.allocated, cost)
            if not workload.preemptible:
                self._journal.add(sums.non_preemptible, cost)

    def _add_pending(
        self, workload: Workload, path: Sequence[QueueName], counts: Sequence[int], sign: int
    ) -> None:
        amounts = _waiting(workload, counts, len(self.resources))
        change = amounts if sign > 0 else _negative(amounts)
        for queue in path:
            self._journal.add(self.sums[queue].pending, change)

    def _check_queue(self, queue: Queue) -> None:
        vectors = (queue.weights, queue.guaranteed, queue.ceiling)
        assert all(len(vector) == len(self.axes) for vector in vectors), queue.name
        ancestor = queue.parent
        while ancestor is not None:  # one that is named but not there yet counts as well
            if ancestor == queue.name:
                raise StateError(f"queue {queue.name} would be its own ancestor")
            known = self.queues.get(ancestor)
            ancestor = known.parent if known else None

    def _sums_below(self, name: QueueName) -> QueueSums:
        """Add up what waited for a queue that was not there: its workloads and children."""
        sums = QueueSums.zero(len(self.axes), len(self.resources))
        for child in self._children.get(name, ()):
            sums.include(self.sums[child])
        for workload in self._queued.get(name, ()):
            sums.include(self._sums_of(self.workloads[workload]))
        return sums

    def _sums_of(self, workload: Workload) -> QueueSums:
        run = self.runs.get(workload.name)
        placed = run.pods if run else {}
        staying = _count_by_set(workload, [p for p, at in placed.items() if not at.leaving])
        leaving = _count_by_set(workload, [p for p, at in placed.items() if at.leaving])
        waiting = [
            pod_set.count - stay - leave
            for pod_set, stay, leave in zip(workload.pod_sets, staying, leaving, strict=True)
        ]
        allocated = list(_cost(run, staying)) if run else list(self.axes.zero)
        return QueueSums(
            allocated=allocated,
            non_preemptible=list(self.axes.zero) if workload.preemptible else list(allocated),
            leaving=list(_cost(run, leaving)) if run else list(self.axes.zero),
            pending=list(_waiting(workload, waiting, len(self.resources))),
        )

    def _attach(self, queue: Queue) -> None:
        if queue.parent not in self._children:
            self._journal.put(self._children, queue.parent, {})
        self._journal.put(self._children[queue.parent], queue.name, None)
        self._add_to_ancestors(queue, 1)

    def _detach(self, queue: Queue) -> None:
        self._journal.drop(self._children[queue.parent], queue.name)
        self._add_to_ancestors(queue, -1)

    def _add_to_ancestors(self, queue: Queue, sign: int) -> None:
        if queue.parent is None:
            return
        own = self.sums[queue.name].vectors()
        for ancestor in self.path(queue.parent):
            for vector, amounts in zip(self.sums[ancestor].vectors(), own, strict=True):
                self._journal.add(vector, [sign * amount for amount in amounts])


def _waiting(workload: Workload, counts: Sequence[int], size: int) -> Amounts:
    """Return what *counts* pods per set ask for while they wait; held-back pods ask nothing."""
    if not workload.active:
        return (0,) * size
    pod_sets = workload.pod_sets
    asking = [0 if s.gated else count for s, count in zip(pod_sets, counts, strict=True)]
    return _multiplied([pod_set.requests for pod_set in pod_sets], asking)


def _cost(run: Run, counts: Sequence[int]) -> Amounts:
    """Return what *counts* pods per set cost the queue."""
    return _multiplied(run.charges, counts)


def _multiplied(vectors: Sequence[Amounts], counts: Sequence[int]) -> Amounts:
    """Return the sum of *vectors*, each taken as often as *counts* says."""
    if len(vectors) == 1:  # nearly all workloads, and worth a short way
        count = counts[0]
        return vectors[0] if count == 1 else tuple([amount * count for amount in vectors[0]])
    scaled = [[amount * n for amount in v] for v, n in zip(vectors, counts, strict=True)]
    return tuple(map(sum, zip(*scaled, strict=True)))


def _count_by_set(workload: Workload, pods: Sequence[PodId]) -> list[int]:
    counts = [0] * len(workload.pod_sets)
    for pod in pods:
        counts[pod.pod_set] += 1
    return counts


def _has_pod(workload: Workload, pod: PodId) -> bool:
    sets = workload.pod_sets
    return 0 <= pod.pod_set < len(sets) and 0 <= pod.ordinal < sets[pod.pod_set].count


def _negative(amounts: Amounts) -> Amounts:
    return tuple(map(neg, amounts))
