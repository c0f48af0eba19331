"""The pending workloads of one ClusterQueue: their order, and how far a plan has come in it.

The order is Kueue's own. It does not say which workloads are considered: one that is held back or
waits for its back-off has its place all the same.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import ClusterQueue, QueuePreemption
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, UsageRank
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import (
    Demand,
    PendingWorkload,
    is_preempting,
    local_queue_name,
)

_Place: TypeAlias = tuple[int, int, WorkloadName]
"""Where a workload stands in its queue, the first one first."""


def pending_order(
    state: ClusterState,
    queue: QueueName,
    settings: KueueSettings,
    local_usage: LocalQueueUsage | None = None,
) -> list[WorkloadName]:
    """Return the workloads of *queue* that are not admitted, the head first.

    First those that wait for evicted workloads, so that no other takes what is freed; then by
    higher priority, by earlier `queued_ms`, and by name. In a queue ordered by *local_usage*, the
    usage of the LocalQueue comes before the priority. Cost: O(n log n).
    """
    counted = (
        local_usage if local_usage is not None and local_usage.orders_by_usage(queue) else None
    )

    def place(name: WorkloadName) -> tuple[bool, UsageRank | None, int, int, WorkloadName]:
        workload = state.workloads[name]
        return (
            not is_preempting(state, name),
            None if counted is None else counted.rank(name),
            -workload.priority,
            queued_ms(workload, settings),
            name,
        )

    return sorted((name for name in state.waiting(queue) if name not in state.runs), key=place)


def queued_ms(workload: Workload, settings: KueueSettings) -> int:
    """Return since when *workload* counts as pending: its creation, or a later eviction.

    An eviction counts only if it was requeued for it (the workload's ``requeued_ms``), and only as
    *settings* say.
    """
    rules = workload.extension
    if isinstance(rules, KueueWorkload) and settings.requeued_by == "Eviction":
        return workload.created_ms if rules.requeued_ms is None else rules.requeued_ms
    return workload.created_ms


def is_queued(state: ClusterState, workload: Workload) -> bool:
    """Return whether *workload*, if it is not admitted, counts as pending in Kueue.

    An inactive one does not, nor one whose LocalQueue is stopped. One in a stopped ClusterQueue
    does: its place is kept.
    """
    rules = workload.extension
    if not workload.active or not isinstance(rules, KueueWorkload):
        return False
    admissibility = state.catalogue.local_queues.get(local_queue_name(workload))
    return admissibility is None or not admissibility.stopped


class EquivalenceClass:
    """Workloads of one queue that fare equally, because their scheduling hashes are equal."""

    __slots__ = ("known", "members", "scheduling_hash")

    def __init__(self, scheduling_hash: Hashable) -> None:
        """Begin without a workload."""
        self.scheduling_hash = scheduling_hash
        self.members: list[tuple[_Place, PendingWorkload]] = []  # in the order of the queue
        self.known: object = None  # what an incremental source remembers of them


class PendingQueue:
    """A queue whose first workload is the head; with StrictFIFO an inadmissible head blocks it.

    A plan goes through it class by class, so that a thousand equal workloads cost what one costs.
    """

    def __init__(
        self,
        workloads: Iterable[PendingWorkload],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
    ) -> None:
        """Start at the first workload; *preempting* is the one that waits for evicted workloads.

        That one is the head as long as it has that right, and then goes back to its place.
        """
        self._rules = rules
        self._by_hash: dict[Hashable, EquivalenceClass] = {}
        self._by_name: dict[WorkloadName, tuple[PendingWorkload, EquivalenceClass]] = {}
        self._order: list[tuple[_Place, EquivalenceClass]] | None = None  # None: to be sorted
        self.parked_at: object = None  # when an incremental source found all inadmissible
        self.is_set_aside = False  # all at once, as they still are
        for pending in workloads:
            self.add(pending)
        self.restart(preempting)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def add(self, pending: PendingWorkload) -> None:
        """Add a workload, between two plans."""
        key = scheduling_hash(pending, self._rules.preemption)
        found = self._by_hash.get(key)
        if found is None:
            found = self._by_hash[key] = EquivalenceClass(key)
        insort(found.members, (_place(pending), pending))
        self._by_name[pending.name] = pending, found
        self._order = self.parked_at = None
        self.is_set_aside = False

    def drop(self, name: WorkloadName) -> None:
        """Remove a workload, between two plans."""
        pending, found = self._by_name.pop(name)
        del found.members[bisect_left(found.members, (_place(pending),))]
        if not found.members:
            del self._by_hash[found.scheduling_hash]
        self._order = self.parked_at = None
        self.is_set_aside = False
        if not self:
            self.restart(None)

    def restart(self, preempting: WorkloadName | None) -> None:
        """Start at the first workload again, for a new plan."""
        self.preempting = preempting
        self.is_set_aside = False
        self._left = self.in_order().copy()  # by the first workload of each that is not admitted
        self._admitted: set[WorkloadName] = set()
        self._inadmissible: dict[EquivalenceClass, None] = {}

    def in_order(self) -> list[tuple[_Place, EquivalenceClass]]:
        """Return all classes in the order of their first workloads; not to be changed."""
        if self._order is None:
            self._order = sorted([(each.members[0][0], each) for each in self._by_hash.values()])
        return self._order

    def workloads(self) -> list[PendingWorkload]:
        """Return all workloads, in no order."""
        return [pending for pending, _ in self._by_name.values()]

    def class_of(self, name: WorkloadName) -> EquivalenceClass:
        """Return the equivalence class of a workload."""
        return self._by_name[name][1]

    def head(self) -> PendingWorkload | None:
        """Return the next workload; None if all were looked at."""
        if self.preempting is not None:
            return self._by_name[self.preempting][0]
        return self._next()

    def _next(self) -> PendingWorkload | None:
        """Return the next workload where none waits for evicted ones."""
        if not self._left:
            return None
        (*_, name), _ = self._left[0]
        return self._by_name[name][0]

    def admit(self, name: WorkloadName) -> None:
        """Remove the head, which is admitted now."""
        self._admitted.add(name)
        self.preempting = None
        _, found = self._by_name[name]
        for at, (place, each) in enumerate(self._left):
            if each is found:
                del self._left[at]
                self._enter(found, bisect_left(found.members, (place,)))
                return

    def _enter(self, found: EquivalenceClass, at: int) -> None:
        """Let the first workload of a class that is not admitted, from *at* on, stand for it."""
        members = found.members
        while at < len(members) and members[at][1].name in self._admitted:
            at += 1
        if at < len(members):
            insort(self._left, (members[at][0], found))

    def mark_inadmissible(self, name: WorkloadName) -> None:
        """Set the head aside, which cannot be admitted.

        With BestEffortFIFO all workloads behind it of the same class are set aside too. With
        StrictFIFO it stays. If it waited for evicted workloads, it has no right to them any more.
        """
        self.preempting = None
        if not self.is_strict_fifo:
            _, found = self._by_name[name]
            self._inadmissible[found] = None
            self._left = [each for each in self._left if each[1] is not found]

    def set_all_aside(self) -> None:
        """Set all workloads aside, one class after the other, until they start again."""
        if not self.is_set_aside:
            self.is_set_aside = True
            self._inadmissible |= dict.fromkeys([each for _, each in self._left])
            self._left = []

    @property
    def is_strict_fifo(self) -> bool:
        """Whether no workload passes a head that cannot be admitted."""
        return self._rules.queueing_strategy == "StrictFIFO"

    def not_admitted(self) -> Iterator[tuple[PendingWorkload, PendingWorkload | None]]:
        """Yield the workloads left, and behind which head; behind None: it had its turn itself."""
        for each in self._inadmissible:
            for pending in self._not_admitted_of(each):
                yield pending, None
        head = self.head()
        left = [pending for _, each in self._left for pending in self._not_admitted_of(each)]
        for pending in sorted(left, key=self._rest_key):
            yield pending, None if pending is head else head

    def _not_admitted_of(self, found: EquivalenceClass) -> list[PendingWorkload]:
        return [pending for _, pending in found.members if pending.name not in self._admitted]

    def _rest_key(self, pending: PendingWorkload) -> tuple[object, ...]:
        return pending.name != self.preempting, _place(pending)


def scheduling_hash(pending: PendingWorkload, preemption: QueuePreemption) -> Hashable:
    """Return all that decides whether a workload can be admitted to a queue of these rules."""
    demands = tuple(
        (tuple(each.requests.items()), each.count, each.min_count, _flavors(each))
        for each in pending.demands
    )
    # Where age counts too, the first of equal workloads is the oldest: if it finds no victim,
    # the others find none either.
    priority = pending.priority if _preempts_by_priority(preemption) else 0
    return priority, pending.restraint, demands


def _place(pending: PendingWorkload) -> _Place:
    return -pending.priority, pending.queued_ms, pending.name


def _preempts_by_priority(preemption: QueuePreemption) -> bool:
    """Return whether the priority of a preemptor decides which candidates it has."""
    return (
        preemption.within_cluster_queue != "Never"
        or preemption.reclaim_within_cohort == "LowerPriority"
        or preemption.borrow_within_cohort.policy != "Never"
    )


def _flavors(demand: Demand) -> Hashable:
    return None if demand.flavors is None else tuple(map(tuple, demand.flavors))


class UsageOrderedQueue(PendingQueue):
    """A queue in which workloads of the LocalQueue with the least usage come first.

    An admission counts as usage at once and so may put another LocalQueue first. Among workloads of
    one LocalQueue nothing ever changes, so it has an order of its own, and only the first ones of
    these are compared. Usage may grow, but not shrink.
    """

    def __init__(
        self,
        workloads: Sequence[PendingWorkload],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
        local_usage: LocalQueueUsage,
    ) -> None:
        """Start at the first workload, in the order of the usage as it is."""
        super().__init__(workloads, rules, preempting)
        self._local_usage = local_usage
        last_first: dict[str, list[PendingWorkload]] = {}
        for pending in sorted(workloads, key=_place, reverse=True):
            last_first.setdefault(local_usage.local_queue(pending.name), []).append(pending)
        # An outdated place is too far ahead, never too far behind.
        self._firsts = [(self._usage_place(each[-1]), each) for each in last_first.values()]
        heapify(self._firsts)

    def _next(self) -> PendingWorkload | None:
        """Return the next workload where none waits for evicted ones.

        Cost: O(log LocalQueues) for each that was passed since.
        """
        firsts = self._firsts
        while firsts:
            place, last_first = firsts[0]
            while last_first and self._is_done(last_first[-1]):
                last_first.pop()
            if not last_first:
                heappop(firsts)
                continue
            now = self._usage_place(last_first[-1])
            if now == place:
                return last_first[-1]
            heapreplace(firsts, (now, last_first))
        return None

    def _is_done(self, pending: PendingWorkload) -> bool:
        return pending.name in self._admitted or self.class_of(pending.name) in self._inadmissible

    def _rest_key(self, pending: PendingWorkload) -> tuple[object, ...]:
        return pending.name != self.preempting, self._usage_place(pending)

    def _usage_place(self, pending: PendingWorkload) -> tuple[UsageRank, _Place]:
        return self._local_usage.rank(pending.name), _place(pending)
