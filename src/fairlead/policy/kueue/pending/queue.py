"""The pending workloads of one ClusterQueue, in their order, while a plan goes through them."""

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.queue import ClusterQueue, QueuePreemption
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, UsageRank
from fairlead.policy.kueue.workloads import Demand, PendingWorkload


class PendingQueue:
    """A queue whose first workload is the head; with StrictFIFO an inadmissible head blocks it."""

    def __init__(
        self,
        workloads: Sequence[PendingWorkload],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
    ) -> None:
        """Start at the first workload; *preempting* is the one that waits for evicted workloads.

        That one is the head as long as it has that right, and then goes back to its place.
        """
        self._by_name = {pending.name: pending for pending in workloads}
        self._workloads = sorted(workloads, key=_seniority)
        self._at = 0
        self._rules = rules
        self._done: dict[WorkloadName, None] = {}  # admitted, or inadmissible
        self._inadmissible: list[PendingWorkload] = []
        self._hashes = {
            pending.name: scheduling_hash(pending, rules.preemption) for pending in workloads
        }
        self._by_hash: dict[Hashable, list[PendingWorkload]] = {}
        for pending in self._workloads:
            self._by_hash.setdefault(self.scheduling_hash(pending.name), []).append(pending)
        self.preempting = preempting

    def head(self) -> PendingWorkload | None:
        """Return the next workload; None if all were looked at."""
        if self.preempting is not None:
            return self._by_name[self.preempting]
        return self._next()

    def _next(self) -> PendingWorkload | None:
        """Return the next workload where none waits for evicted ones."""
        while self._at < len(self._workloads) and self._workloads[self._at].name in self._done:
            self._at += 1
        return self._workloads[self._at] if self._at < len(self._workloads) else None

    def admit(self, name: WorkloadName) -> None:
        """Remove the head, which is admitted now."""
        self._done[name] = None
        self.preempting = None

    def scheduling_hash(self, name: WorkloadName) -> Hashable:
        """Return all that decides whether a workload can be admitted: equal ones fare equally."""
        return self._hashes[name]

    def mark_inadmissible(self, name: WorkloadName) -> None:
        """Set the head aside, which cannot be admitted.

        With BestEffortFIFO all workloads behind it with the same scheduling hash are set aside too.
        With StrictFIFO it stays. If it waited for evicted workloads, it has no right to them any
        more.
        """
        self.preempting = None
        if self.is_strict_fifo:
            return
        for each in self._by_hash[self.scheduling_hash(name)]:
            if each.name not in self._done:
                self._done[each.name] = None
                self._inadmissible.append(each)

    @property
    def is_strict_fifo(self) -> bool:
        """Whether no workload passes a head that cannot be admitted."""
        return self._rules.queueing_strategy == "StrictFIFO"

    def not_admitted(self) -> Iterator[tuple[PendingWorkload, PendingWorkload | None]]:
        """Yield the workloads left, and behind which head; behind None: it had its turn itself."""
        for pending in self._inadmissible:
            yield pending, None
        head = self.head()
        for pending in self._rest():
            yield pending, None if pending is head else head

    def _rest(self) -> list[PendingWorkload]:
        """Return the workloads that were neither admitted nor set aside, in order."""
        left = [each for each in self._workloads[self._at :] if each.name not in self._done]
        return sorted(left, key=lambda each: each.name != self.preempting)


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


def _seniority(pending: PendingWorkload) -> tuple[int, int, WorkloadName]:
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


_Place: TypeAlias = tuple[UsageRank, int, int, WorkloadName]


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
        for pending in reversed(workloads):
            last_first.setdefault(local_usage.local_queue(pending.name), []).append(pending)
        # An outdated place is too far ahead, never too far behind.
        self._firsts = [(self._place(each[-1]), each) for each in last_first.values()]
        heapify(self._firsts)

    def _next(self) -> PendingWorkload | None:
        """Return the next workload where none waits for evicted ones.

        Cost: O(log LocalQueues) for each that was passed since.
        """
        firsts = self._firsts
        while firsts:
            place, last_first = firsts[0]
            while last_first and last_first[-1].name in self._done:
                last_first.pop()
            if not last_first:
                heappop(firsts)
                continue
            now = self._place(last_first[-1])
            if now == place:
                return last_first[-1]
            heapreplace(firsts, (now, last_first))
        return None

    def _rest(self) -> list[PendingWorkload]:
        left = [each for each in self._workloads if each.name not in self._done]
        return sorted(left, key=lambda each: (each.name != self.preempting, self._place(each)))

    def _place(self, pending: PendingWorkload) -> _Place:
        name = pending.name
        return self._local_usage.rank(name), -pending.priority, pending.queued_ms, name
