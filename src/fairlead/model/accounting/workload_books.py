"""The workloads of a state: which pods wait, which have a place, and what that costs their queues.

Every change goes through the journal, adjusts the sums of the queues above a workload and the books
of the nodes that its pods are on, and is noted in `touched`. A contradiction is refused with
`StateError` before anything changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import neg
from typing import Any, Final, TypeAlias

from fairlead.errors import StateError
from fairlead.model import events as ev
from fairlead.model.accounting.journal import ChangeLog, Journal
from fairlead.model.accounting.memory_books import MemoryBooks
from fairlead.model.accounting.node_books import NodeBooks
from fairlead.model.accounting.pod_sums import asked_for, cost, count_by_set
from fairlead.model.accounting.queue_tree import QueueSums, QueueTree
from fairlead.model.axes import Amounts, QueueName, QuotaAxes, WorkloadName
from fairlead.model.device_share import DeviceShare, counted_by_parts
from fairlead.model.run import Phase, Placed, Run
from fairlead.model.workload import PodId, PodKey, PodSet, PodSets, Workload

MOST_KNOWN: Final = 1024
"""That are remembered; where sizes are drawn by chance there may be as many as workloads."""

_Known: TypeAlias = tuple[PodSets, tuple[dict[str, str], ...], tuple[Amounts, ...]]


class KnownCharges:
    """The charges of pod sets that were asked for lately, by the identity of these."""

    def __init__(self, resources: tuple[str, ...], axes: QuotaAxes) -> None:
        """Charge requests for *resources* on *axes*."""
        self._resources = resources
        self._axes = axes
        self._known: dict[int, _Known] = {}

    def of(self, pod_sets: PodSets, flavors: tuple[dict[str, str], ...]) -> tuple[Amounts, ...]:
        """Return what one pod of each set costs with the flavors that the set was given."""
        known = self._known.get(id(pod_sets))
        # In a copy of a state the sets are others than those whose identity is the key.
        if known is not None and known[0] is pod_sets and known[1] == flavors:
            return known[2]
        charge, resources = self._axes.charge, self._resources
        pairs = zip(pod_sets, flavors, strict=True)
        charges = tuple([charge(resources, each.requests, given) for each, given in pairs])
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[id(pod_sets)] = pod_sets, flavors, charges
        return charges


class QueueLists:
    """Sets of workloads by queue. Every change goes through the journal, at a fixed cost."""

    def __init__(self, journal: Journal) -> None:
        """Start with nothing listed."""
        self._journal = journal
        self._by_queue: dict[QueueName, dict[WorkloadName, None]] = {}

    def of(self, queue: QueueName) -> Iterable[WorkloadName]:
        """Return what is listed under *queue*, in no order that means anything."""
        return self._by_queue.get(queue, ())

    def queues(self) -> Iterable[QueueName]:
        """Return the queues, known or not, under which something is listed."""
        return self._by_queue

    def has(self, queue: QueueName, workload: WorkloadName) -> bool:
        """Return whether *workload* is listed under *queue*."""
        return workload in self._by_queue.get(queue, ())

    def put(self, queue: QueueName, workload: WorkloadName) -> None:
        """List *workload* under *queue*."""
        if queue not in self._by_queue:
            self._journal.put(self._by_queue, queue, {})
        self._journal.put(self._by_queue[queue], workload, None)

    def drop(self, queue: QueueName, workload: WorkloadName) -> None:
        """Take *workload*, which must be there, off the list of *queue*."""
        listed = self._by_queue[queue]
        self._journal.drop(listed, workload)
        if not listed:
            self._journal.drop(self._by_queue, queue)


MOST_TOUCHED: Final = 4096
"""How many changes of workloads an index can catch up with: many more than a cycle makes."""


class WorkloadBooks:
    """Workloads by name, with the places of their pods and what is remembered of them."""

    def __init__(
        self,
        journal: Journal,
        resources: tuple[str, ...],
        axes: QuotaAxes,
        tree: QueueTree,
        nodes: NodeBooks,
    ) -> None:
        """Start without workloads; those that come are charged to *tree* and booked on *nodes*."""
        self.workloads: dict[WorkloadName, Workload] = {}
        self.runs: dict[WorkloadName, Run] = {}
        self.repelling: dict[
            WorkloadName, None
        ] = {}  # workloads that keep pods away by anti-affinity
        self.touched = ChangeLog[WorkloadName](most=MOST_TOUCHED)
        self.queued = QueueLists(journal)
        self.waiting = QueueLists(journal)
        self._journal = journal
        self._resources = resources
        self._axes = axes
        self._tree = tree
        self._nodes = nodes
        self._charges = KnownCharges(resources, axes)
        self._memory_books = MemoryBooks(journal)
        self.memories = self._memory_books.memories
        self.promised = self._memory_books.promised

    def handlers(self) -> Mapping[type, Callable[[Any], None]]:
        """Return what takes in each kind of event about workloads."""
        return {
            ev.WorkloadAdded: self._workload_added,
            ev.WorkloadChanged: self._workload_changed,
            ev.MemoryChanged: self._memory_changed,
            ev.WorkloadStarted: partial(self._place, "running"),
            ev.WorkloadBinding: partial(self._place, "binding"),
            ev.WorkloadConfirmed: self._workload_confirmed,
            ev.WorkloadReserved: partial(self._place, "reserved"),
            ev.WorkloadLeaving: self._workload_leaving,
            ev.WorkloadStays: self._workload_stays,
            ev.WorkloadStopped: self._workload_stopped,
            ev.WorkloadDisplaced: self._workload_displaced,
            ev.WorkloadDeparted: self._workload_departed,
            ev.WorkloadFinished: self._workload_gone,
            ev.WorkloadRemoved: self._workload_gone,
        }

    def _workload_added(self, event: ev.WorkloadAdded) -> None:
        workload = event.workload
        if workload.name in self.workloads:
            raise StateError(f"workload {workload.name} was added before")
        self._check_shape(workload)
        self._enqueue(workload)
        self._add_pending(workload, [each.count for each in workload.pod_sets])

    def _workload_changed(self, event: ev.WorkloadChanged) -> None:
        new = event.workload
        old = self._known(new.name)
        self._check_shape(new)
        run = self.runs.get(new.name)
        self._tree.add_sums(old.queue, self.sums_of(old).negative())
        self._dequeue(old)
        for pod in old.pods() if self._nodes.has_departures() else ():
            still_there = pod in new.pod_sets.set_index
            (self._nodes.change_departing if still_there else self._nodes.depart)((old.name, pod))
        if run:
            self._carry_over(old, new, run)
        self._enqueue(new)
        self._tree.add_sums(new.queue, self.sums_of(new))
        self._memory_books.workload_changed(new)

    def _memory_changed(self, event: ev.MemoryChanged) -> None:
        self._memory_books.change(self._known(event.workload), event.memory)
        self._journal.touch(self.touched, event.workload)

    def _place(
        self,
        phase: Phase,
        event: ev.WorkloadStarted | ev.WorkloadBinding | ev.WorkloadReserved,
    ) -> None:
        workload = self._known(event.workload)
        run = self.runs.get(workload.name)
        pods = [placement.pod for placement in event.placements]
        self._check_start(workload, run, pods, event.flavors)
        if run is None:
            flavors = event.flavors or ({},) * len(workload.pod_sets)
            charges = self._charges.of(workload.pod_sets, flavors)
            run = Run(
                pods={},
                pod_sets=workload.pod_sets,
                reserved={},
                charges=charges,
                own_charges={},
                flavors=flavors,
            )
            self._journal.put(self.runs, workload.name, run)
        set_index = workload.pod_sets.set_index
        until_ms = None if isinstance(event, ev.WorkloadStarted) else event.until_ms
        for placement in event.placements:
            pod = placement.pod
            placed = Placed(placement.node, event.at_ms, phase, placement.share, until_ms)
            self._journal.put(run.pods, pod, placed)
            if phase == "reserved":
                self._journal.put(run.reserved, pod, None)
            asked = workload.pod_sets[set_index[pod]]
            if placement.share is not None:
                own = self._own_charge(asked, placement.share, run.flavors[set_index[pod]])
                if own is not None:
                    self._journal.put(run.own_charges, pod, own)
            self._nodes.book((workload.name, pod), asked.requests, placed)
        counts = count_by_set(workload, pods)
        self._add_allocated(workload, cost(run, pods, counts))
        self._add_pending(workload, [-count for count in counts])
        self._journal.touch(self.touched, workload.name)
        if not self._has_waiting_pod(workload):
            self.waiting.drop(workload.queue, workload.name)  # as it was while these had no place

    def _workload_confirmed(self, event: ev.WorkloadConfirmed) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        if not all(run.pods[pod].is_running() for pod in event.pods):
            raise StateError(f"a pod of {workload.name} was confirmed that has no place or leaves")
        for pod in event.pods:
            placed = run.pods[pod]
            running = Placed(placed.node, event.at_ms, "running", placed.share)
            self._journal.put(run.pods, pod, running)
        self._journal.touch(self.touched, workload.name)

    def _workload_leaving(self, event: ev.WorkloadLeaving) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        if not all(run.pods[pod].is_running() for pod in event.pods):
            raise StateError(f"a pod of {workload.name} was evicted twice, or before it ran")
        moved = self._change_phase(workload, run, event.pods, "leaving")
        self._add_allocated(workload, _negative(moved))
        self._add_leaving(workload, moved)

    def _workload_stays(self, event: ev.WorkloadStays) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        if any(run.pods[pod].phase != "leaving" for pod in event.pods):
            raise StateError(f"a pod of {workload.name} was to stay that is not leaving")
        moved = self._change_phase(workload, run, event.pods, "running")
        self._add_leaving(workload, _negative(moved))
        self._add_allocated(workload, moved)

    def _change_phase(
        self, workload: Workload, run: Run, pods: Sequence[PodId], phase: Phase
    ) -> Amounts:
        """Let *pods* be in another phase where they are; returns what they cost their queue."""
        for pod in pods:
            key, requests = (workload.name, pod), workload.pod_sets.of(pod).requests
            placed = run.pods[pod]
            changed = Placed(placed.node, placed.started_ms, phase, placed.share)
            self._journal.put(run.pods, pod, changed)
            self._nodes.release(key, requests, placed)
            self._nodes.book(key, requests, changed)
        self._journal.touch(self.touched, workload.name)
        return cost(run, pods, count_by_set(workload, pods))

    def _workload_stopped(self, event: ev.WorkloadStopped) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        self._release(workload, run, event.pods, self._nodes.release)
        self._add_pending(workload, count_by_set(workload, event.pods))
        self._note_waiting(workload)

    def _workload_displaced(self, event: ev.WorkloadDisplaced) -> None:
        workload = self._known(event.workload)
        run = self._running(workload, event.pods)
        if any(run.pods[pod].phase == "leaving" for pod in event.pods):
            raise StateError(f"a pod of {workload.name} was displaced that is leaving")
        self._release(workload, run, event.pods, self._nodes.displace)
        self._add_pending(workload, count_by_set(workload, event.pods))
        self._note_waiting(workload)

    def _workload_departed(self, event: ev.WorkloadDeparted) -> None:
        keys = [(event.workload, pod) for pod in event.pods]
        if not all(map(self._nodes.is_departing, keys)):
            raise StateError(f"a pod of {event.workload} departed that was not displaced")
        for key in keys:
            self._nodes.depart(key)

    def _workload_gone(self, event: ev.WorkloadFinished | ev.WorkloadRemoved) -> None:
        workload = self._known(event.workload)
        run = self.runs.get(workload.name)
        placed = tuple(run.pods) if run else ()
        if run:
            self._release(workload, run, placed, self._nodes.release)
        for pod in workload.pods() if self._nodes.has_departures() else ():
            self._nodes.depart((workload.name, pod))
        if len(placed) < workload.pod_count():
            running = count_by_set(workload, placed)
            waited = [n - s.count for s, n in zip(workload.pod_sets, running, strict=True)]
            self._add_pending(workload, waited)
        self._memory_books.forget(workload.name)
        self._dequeue(workload)

    def _known(self, name: WorkloadName) -> Workload:
        workload = self.workloads.get(name)
        if workload is None:
            raise StateError(f"workload {name} is not known")
        return workload

    def _running(self, workload: Workload, pods: Sequence[PodId]) -> Run:
        run = self.runs.get(workload.name)
        if run is None or len(set(pods)) != len(pods) or not all(pod in run.pods for pod in pods):
            raise StateError(f"a pod of {workload.name} was to stop that does not run")
        return run

    def _check_shape(self, workload: Workload) -> None:
        sets = workload.pod_sets
        for each in sets:
            if len(each.requests) != len(self._resources):
                raise StateError(f"workload {workload.name} needs one request per resource")
        if not sets.has_distinct_ids:
            raise StateError(f"workload {workload.name} has two pods with one id")

    def _check_start(
        self,
        workload: Workload,
        run: Run | None,
        pods: Sequence[PodId],
        flavors: tuple[dict[str, str], ...],
    ) -> None:
        if not pods:
            raise StateError(f"{workload.name} was started without a pod")
        running = run.pods if run else {}
        for pod in pods:
            if pod in running:
                raise StateError(f"a pod of {workload.name} was started twice")
            if pod not in workload.pod_sets.set_index:
                raise StateError(f"a pod of {workload.name} was started that it does not have")
        if len(pods) > 1 and len(set(pods)) != len(pods):
            raise StateError(f"a pod of {workload.name} was started twice")
        if flavors and len(flavors) != len(workload.pod_sets):
            raise StateError(f"{workload.name} needs flavors for each of its pod sets")
        if flavors and run and flavors != run.flavors:
            raise StateError(f"{workload.name} runs already with other flavors")

    def _enqueue(self, workload: Workload) -> None:
        self._journal.put(self.workloads, workload.name, workload)
        for each in workload.pod_sets:
            if each.constraints.pod_anti_affinity:
                self._journal.put(self.repelling, workload.name, None)
                break
        self.queued.put(workload.queue, workload.name)
        self._journal.touch(self.touched, workload.name)
        if self._has_waiting_pod(workload):
            self.waiting.put(workload.queue, workload.name)

    def _dequeue(self, workload: Workload) -> None:
        self.queued.drop(workload.queue, workload.name)
        if self.waiting.has(workload.queue, workload.name):
            self.waiting.drop(workload.queue, workload.name)
        if workload.name in self.repelling:
            self._journal.drop(self.repelling, workload.name)
        self._journal.drop(self.workloads, workload.name)
        self._journal.touch(self.touched, workload.name)

    def _note_waiting(self, workload: Workload) -> None:
        """List the workload among those that wait for as long as some pod has no place."""
        self._journal.touch(self.touched, workload.name)
        waits = self._has_waiting_pod(workload)
        if waits != self.waiting.has(workload.queue, workload.name):
            change = self.waiting.put if waits else self.waiting.drop
            change(workload.queue, workload.name)

    def _has_waiting_pod(self, workload: Workload) -> bool:
        run = self.runs.get(workload.name)
        return (len(run.pods) if run else 0) < workload.pod_count()

    def _own_charge(
        self, asked: PodSet, share: DeviceShare | None, flavors: dict[str, str]
    ) -> Amounts | None:
        """Return what a pod costs at its place; None if it costs the same everywhere."""
        wanted, gpu = asked.gpu_share, self._nodes.shared_gpu
        if share is None or wanted is None or wanted.memory_mib is None or gpu is None:
            return None
        counted = counted_by_parts(asked.requests, gpu, share)
        return self._axes.charge(self._resources, counted, flavors)

    def _carry_over(self, old: Workload, new: Workload, run: Run) -> None:
        """Keep the places of pods that *new* still has, with what they cost now; end the others."""
        flavors = run.flavors_for(new.pod_sets)
        set_index = new.pod_sets.set_index
        changed = Run(
            pods={pod: placed for pod, placed in run.pods.items() if pod in set_index},
            pod_sets=new.pod_sets,
            reserved={pod: None for pod in run.reserved if pod in set_index},
            charges=self._charges.of(new.pod_sets, flavors),
            own_charges={},
            flavors=flavors,
        )
        for pod, placed in changed.pods.items():
            at = set_index[pod]
            own = self._own_charge(new.pod_sets[at], placed.share, flavors[at])
            if own is not None:
                changed.own_charges[pod] = own
        if changed.pods:
            self._journal.put(self.runs, new.name, changed)
        else:
            self._journal.drop(self.runs, new.name)
        for pod, placed in run.pods.items():
            self._nodes.release((new.name, pod), old.pod_sets.of(pod).requests, placed)
        for pod, placed in changed.pods.items():
            self._nodes.book((new.name, pod), new.pod_sets.of(pod).requests, placed)

    def _release(
        self,
        workload: Workload,
        run: Run,
        pods: Sequence[PodId],
        take_off: Callable[[PodKey, Amounts, Placed], None],
    ) -> None:
        """Take the places of *pods* away; the caller says how, and whether they wait again."""
        leaving = [pod for pod in pods if run.pods[pod].phase == "leaving"]
        staying = [pod for pod in pods if run.pods[pod].phase != "leaving"] if leaving else pods
        if staying:
            given_up = cost(run, staying, count_by_set(workload, staying))
            self._add_allocated(workload, _negative(given_up))
        if leaving:
            given_up = cost(run, leaving, count_by_set(workload, leaving))
            self._add_leaving(workload, _negative(given_up))
        for pod in pods:
            requests = workload.pod_sets.of(pod).requests
            take_off((workload.name, pod), requests, run.pods[pod])
            self._journal.drop(run.pods, pod)
            if pod in run.reserved:
                self._journal.drop(run.reserved, pod)
            if pod in run.own_charges:
                self._journal.drop(run.own_charges, pod)
        if not run.pods:
            self._journal.drop(self.runs, workload.name)

    def _add_allocated(self, workload: Workload, amounts: Amounts) -> None:
        for sums in self._tree.sums_upward(workload.queue):
            self._journal.add(sums.allocated, amounts)
            if not workload.preemptible:
                self._journal.add(sums.non_preemptible, amounts)

    def _add_leaving(self, workload: Workload, amounts: Amounts) -> None:
        for sums in self._tree.sums_upward(workload.queue):
            self._journal.add(sums.leaving, amounts)

    def _add_pending(self, workload: Workload, counts: Sequence[int]) -> None:
        """Let so many pods more of each set wait, or fewer."""
        amounts = asked_for(workload, counts)
        if amounts is not None:
            for sums in self._tree.sums_upward(workload.queue):
                self._journal.add(sums.pending, amounts)

    def sums_of(self, workload: Workload) -> QueueSums:
        """Return what *workload* adds to the sums of its queue."""
        run = self.runs.get(workload.name)
        placed = run.pods if run else {}
        away = [pod for pod, at in placed.items() if at.phase == "leaving"]
        stay = [pod for pod, at in placed.items() if at.phase != "leaving"]
        leaving = count_by_set(workload, away)
        staying = count_by_set(workload, stay)
        waiting = [
            pod_set.count - stays - leaves
            for pod_set, stays, leaves in zip(workload.pod_sets, staying, leaving, strict=True)
        ]
        allocated = list(cost(run, stay, staying)) if run else list(self._axes.zero)
        return QueueSums(
            allocated=allocated,
            non_preemptible=list(self._axes.zero) if workload.preemptible else list(allocated),
            leaving=list(cost(run, away, leaving)) if run else list(self._axes.zero),
            pending=list(asked_for(workload, waiting) or (0,) * len(self._resources)),
        )


def _negative(amounts: Amounts) -> Amounts:
    return tuple(map(neg, amounts))
