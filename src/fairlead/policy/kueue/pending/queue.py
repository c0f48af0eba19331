"""The workloads that wait in one ClusterQueue, in their order, while a plan goes through them."""

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.queue import ClusterQueue, QueuePreemption
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, UsageRank
from fairlead.policy.kueue.workloads import Demand, PendingWorkload


class PendingQueue:
    """A line whose first is the head. With StrictFIFO a head that cannot be admitted blocks it."""

    def __init__(
        self, line: Sequence[PendingWorkload], rules: ClusterQueue, preempting: WorkloadName | None
    ) -> None:
        """Start at the first of *line*; *preempting* is who has others give way to it already.

        That one is the first as long as it has that right, and then stands where it belongs.
        """
        self._by_name = {pending.name: pending for pending in line}
        self._line = sorted(line, key=_seniority)
        self._at = 0
        self._rules = rules
        self._passed: dict[WorkloadName, None] = {}  # admitted, or set aside before their turn
        self._inadmissible: list[PendingWorkload] = []
        self._shapes = {
            pending.name: scheduling_hash(pending, rules.preemption) for pending in line
        }
        self._alike: dict[Hashable, list[PendingWorkload]] = {}
        for pending in self._line:
            self._alike.setdefault(self.scheduling_hash(pending.name), []).append(pending)
        self.preempting = preempting

    def head(self) -> PendingWorkload | None:
        """Return who is next; None if everybody was looked at."""
        if self.preempting is not None:
            return self._by_name[self.preempting]
        return self._next()

    def _next(self) -> PendingWorkload | None:
        """Return who is next where nobody preempts."""
        while self._at < len(self._line) and self._line[self._at].name in self._passed:
            self._at += 1
        return self._line[self._at] if self._at < len(self._line) else None

    def admit(self, name: WorkloadName) -> None:
        """Let the head, which has quota now, go."""
        self._passed[name] = None
        self.preempting = None

    def scheduling_hash(self, name: WorkloadName) -> Hashable:
        """Return all that decides whether a workload can be admitted: equal ones fare equally."""
        return self._shapes[name]

    def mark_inadmissible(self, name: WorkloadName) -> None:
        """Let the head, which cannot be admitted, make room for others.

        With BestEffortFIFO it does, and with it those behind it that ask for the same in the same
        way. With StrictFIFO it stays. If others were to give way to it, it has no right any more.
        """
        self.preempting = None
        if self.is_strict_fifo:
            return
        for each in self._alike[self.scheduling_hash(name)]:
            if each.name not in self._passed:
                self._passed[each.name] = None
                self._inadmissible.append(each)

    @property
    def is_strict_fifo(self) -> bool:
        """Whether nobody passes a head that cannot be admitted."""
        return self._rules.queueing_strategy == "StrictFIFO"

    def not_admitted(self) -> Iterator[tuple[PendingWorkload, PendingWorkload | None]]:
        """Yield who is left, and behind whom; behind None: it had its turn itself."""
        for pending in self._inadmissible:
            yield pending, None
        head = self.head()
        for pending in self._rest():
            yield pending, None if pending is head else head

    def _rest(self) -> list[PendingWorkload]:
        """Return who was neither admitted nor set aside, in order."""
        left = [each for each in self._line[self._at :] if each.name not in self._passed]
        return sorted(left, key=lambda each: each.name != self.preempting)


def scheduling_hash(pending: PendingWorkload, preemption: QueuePreemption) -> Hashable:
    """Return all that decides whether a workload can be admitted to a queue of these rules."""
    demands = tuple(
        (tuple(each.requests.items()), each.count, each.min_count, _flavors(each))
        for each in pending.demands
    )
    # Where age counts too, the one that is asked first is older than those alike: if it finds
    # nobody to give way, they find nobody either.
    priority = pending.priority if _asks_by_priority(preemption) else 0
    return priority, pending.restraint, demands


def _seniority(pending: PendingWorkload) -> tuple[int, int, WorkloadName]:
    return -pending.priority, pending.queued_ms, pending.name


def _asks_by_priority(preemption: QueuePreemption) -> bool:
    """Return whether the importance of a claimant decides whom it may ask."""
    return (
        preemption.within_cluster_queue != "Never"
        or preemption.reclaim_within_cohort == "LowerPriority"
        or preemption.borrow_within_cohort.policy != "Never"
    )


def _flavors(demand: Demand) -> Hashable:
    return None if demand.flavors is None else tuple(map(tuple, demand.flavors))


_Place: TypeAlias = tuple[UsageRank, int, int, WorkloadName]


class UsageOrderedQueue(PendingQueue):
    """The line of a ClusterQueue with usage based admission; *uses* may grow, but not shrink."""

    def __init__(
        self,
        line: Sequence[PendingWorkload],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
        local_usage: LocalQueueUsage,
    ) -> None:
        """Start at the first of *line*, which stands in the order of the uses as they are."""
        super().__init__(line, rules, preempting)
        self._local_usage = local_usage
        last_first: dict[str, list[PendingWorkload]] = {}
        for pending in reversed(line):
            last_first.setdefault(local_usage.local_queue(pending.name), []).append(pending)
        # A place that is out of date is too far ahead, never too far behind.
        self._firsts = [(self._place(each[-1]), each) for each in last_first.values()]
        heapify(self._firsts)

    def _next(self) -> PendingWorkload | None:
        """Return who is next where nobody preempts.

        Cost: O(log LocalQueues) for each that was passed since.
        """
        firsts = self._firsts
        while firsts:
            place, last_first = firsts[0]
            while last_first and last_first[-1].name in self._passed:
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
        left = [each for each in self._line if each.name not in self._passed]
        return sorted(left, key=lambda each: (each.name != self.preempting, self._place(each)))

    def _place(self, pending: PendingWorkload) -> _Place:
        name = pending.name
        return self._local_usage.rank(name), -pending.priority, pending.queued_ms, name
