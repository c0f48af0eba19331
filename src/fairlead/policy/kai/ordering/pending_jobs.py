"""The jobs that wait in each queue, the next one first.

Order inside a queue: higher priority, then who is further below its minimum, then older, then
name. A job that has got some of its pods and wants more takes its new place in that order.

A job may want thousands of pods beyond its minimum, one in each turn. Their order is worked out
once, when it has its minimum: to look at all of its pods in every turn would take ever longer.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Final

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.incremental.pending_queues import (
    ClassSummary,
    IncrementalPendingQueues,
    JobKey,
    JobsByClass,
    PendingQueue,
    Place,
    job_order_key,
)
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from fairlead.policy.kai.jobs.job_class import JobClass, JobClasses

NOBODY: Final[Mapping[WorkloadName, Set[PodId]]] = MappingProxyType({})


class PendingJobs:
    """Heaps of jobs by queue. Only jobs that can start something are in them."""

    def __init__(
        self,
        state: ClusterState,
        depth: int | None,
        gang_of: Callable[[WorkloadName], Gang] | None = None,
        evicted: Mapping[WorkloadName, Set[PodId]] = NOBODY,
        lines: IncrementalPendingQueues | None = None,
        held: Mapping[WorkloadName, Set[PodId]] = NOBODY,
    ) -> None:
        """Take no more than *depth* jobs of each queue, the first ones; None: all.

        *gang_of* returns the groups of a job; None: they are made whenever they are looked at. Pods
        that were *evicted* in this cycle do not wait: they are on their way out. *lines* are those
        of all who wait; None: they are made here. Nobody waits there of whom pods are *held*, but
        other pods of theirs may come to: who left in a try may get its place back.
        """
        self._state = state
        self._depth = depth
        self._evicted = evicted
        self._held = held
        self._gang_of = gang_of
        self._waiting = lines or IncrementalPendingQueues(state, self.gang, JobClasses(state))
        self._lines: dict[QueueName, PendingQueue] = {}  # that were taken in
        self._heaps: dict[QueueName, list[JobKey]] = {}
        self._shared: set[QueueName] = set()  # whose heaps belong to another, see `branch`
        self._changed: set[QueueName] = set()  # in which not all stand as in the lines
        self._next: dict[WorkloadName, tuple[PodId, ...]] = {}
        # Who grows one by one, and what comes after the next pod, the last of all first.
        self._growing: dict[WorkloadName, list[PodId]] = {}
        self._unready: dict[QueueName, list[WorkloadName]] = {}  # where that is not as in the line
        self.beyond_depth: list[WorkloadName] = []

    def branch(
        self, claims: Mapping[WorkloadName, tuple[PodId, ...]], changed: Iterable[WorkloadName]
    ) -> "PendingJobs":
        """Return who waits now; others than those who *changed* or claim want what they do here.

        *claims* are what some would start next, whatever else they want. Law: it is what taking in
        all queues anew would be. Nobody may have had a turn here, and all must have been taken in.
        Cost: the queues of those who changed; of the others, a copy in C.
        """
        assert self._depth is None, "somebody may be left out"
        made = PendingJobs(
            self._state, None, self._gang_of, self._evicted, self._waiting, self._held
        )
        made._lines = self._lines
        made._heaps = self._heaps.copy()
        made._shared = set(self._heaps)
        made._changed = self._changed.copy()
        made._next = self._next.copy()
        made._unready = self._unready  # but for those who changed
        names: dict[QueueName, set[WorkloadName]] = {}
        for name in (*changed, *claims):
            made._next[name] = self._pods_now(name)
            names.setdefault(self._state.workloads[name].queue, set()).add(name)
        made._next.update(claims)
        for queue, them in names.items():
            keys = [key for key in self._heaps.get(queue, ()) if key[-1] not in them]
            keys += [made._key(name) for name in them if made._can_start(name)]
            made._put(queue, keys)
        return made

    def starting_with(self, classes: Mapping[QueueName, Iterable[JobClass]]) -> "PendingJobs":
        """Return who waits in these queues, each line from the first on that is of its *classes*.

        Nobody may have had a turn here. Cost: a copy of those lines in C; a look at each job of a
        queue in which somebody changed.
        """
        made = PendingJobs(
            self._state, None, self._gang_of, self._evicted, self._waiting, self._held
        )
        made._lines = self._lines
        made._next = self._next.copy()
        for queue, some in classes.items():
            found = self._by_kind(queue)
            first = min([found[job_class][0] for job_class in some])
            line = self._sorted(queue)
            made._heaps[queue] = line[bisect_left(line, first) :]
        made._changed.update(classes)
        return made

    def leave_out(self, queue: QueueName) -> None:
        """Let nobody of *queue* stand in line any more. Cost: none, however many they are."""
        self._put(queue, [])

    def add_jobs(self, names: Iterable[WorkloadName]) -> None:
        """Take in *names* alone, of queues of which nothing was taken in, where they can start."""
        keys: dict[QueueName, list[JobKey]] = {}
        for name in names:
            own = keys.setdefault(self._state.workloads[name].queue, [])
            if self._can_start(name):
                own.append(self._key(name))
        for queue, found in keys.items():
            self._put(queue, found)

    def add_queues(self, queues: Set[QueueName]) -> None:
        """Take in what waits in these *queues*, all at once.

        Cost: a copy of the list of queues, where nobody was evicted and all are looked at.
        """
        lines = self._waiting.all()
        self._lines = {queue: lines[queue] for queue in queues if queue in lines}
        self._heaps = {queue: line.keys for queue, line in self._lines.items()}
        self._shared = set(self._heaps)
        changed: dict[QueueName, set[WorkloadName]] = {}
        for name in (*self._evicted, *self._next):
            changed.setdefault(self._state.workloads[name].queue, set()).add(name)
        for queue in changed.keys() & self._lines.keys():
            self._line_up_again(queue, changed[queue])
        if self._depth is not None:
            self._cut_off(self._depth)

    @property
    def unready(self) -> list[WorkloadName]:
        """Who waits in the queues that were taken in, and can start nothing; by queue and name."""
        them = [self._unready.get(queue, line.unready) for queue, line in self._lines.items()]
        return [name for each in them for name in sorted(each)]

    def classes(self) -> Iterator[tuple[QueueName, JobsByClass]]:
        """Yield the queues in line, each with who of them is of which kind.

        Cost: a look at each job of a queue in which anybody had a turn or changed; none at others.
        """
        for queue in self._heaps:
            yield queue, self._by_kind(queue)

    def tally(self) -> Mapping[JobClass, ClassSummary]:
        """Return how many in line are of which kind. Cost: that of `classes`."""
        sizes: Counter[JobClass] = Counter()
        first: dict[JobClass, WorkloadName] = {}
        for _, classes in self.classes():
            for job_class, keys in classes.items():
                sizes[job_class] += len(keys)
                first[job_class] = keys[0][-1]
        return {
            job_class: ClassSummary(sizes[job_class], name, self.next_pods(name))
            for job_class, name in first.items()
        }

    def job_class(self, name: WorkloadName) -> JobClass:
        """Return what a job has in common with others, by the pods that it would start next."""
        place = self._order_key(name)
        return (
            self._waiting.job_class(name, self.next_pods(name))
            if place is None
            else place.job_class
        )

    def first(self, queue: QueueName) -> WorkloadName | None:
        """Return the job that *queue* would run next."""
        heap = self._heaps.get(queue)
        return heap[0][-1] if heap else None

    def first_key(self, queue: QueueName) -> JobKey | None:
        """Return by what the job that *queue* would run next is before the others."""
        heap = self._heaps.get(queue)
        return heap[0] if heap else None

    def queues(self) -> list[QueueName]:
        """Return the queues that have somebody in line."""
        return [queue for queue, heap in self._heaps.items() if heap]

    def lines(self) -> dict[QueueName, object]:
        """Return the queues that have somebody in line, each with what stays its own till it moves.

        Where that is the same object as before, all in that queue is as before.
        """
        shared = self._shared
        return {q: heap if q in shared else object() for q, heap in self._heaps.items() if heap}

    def names(self) -> list[WorkloadName]:
        """Return all jobs, in no order that means anything."""
        return [name for heap in self._heaps.values() for *_, name in heap]

    def next_request(self, queue: QueueName) -> Amounts | None:
        """Return what the job that *queue* would run next would cost it; None if there is none."""
        name = self.first(queue)
        return None if name is None else self.request(name)

    def drop_first(self, queue: QueueName) -> None:
        """Let the first job of *queue* go: it has all it wants, or cannot have it."""
        heappop(self._own_heap(queue))

    def drop_alike(
        self, queue: QueueName, request: Amounts, is_infeasible: Callable[[JobClass], bool]
    ) -> None:
        """Let the first jobs of *queue* go, as long as they are hopeless and cost it *request*.

        So its queue offers the same while they go. Cost: a glance at each.
        """
        heap = self._own_heap(queue)
        while heap:
            job_class = self.job_class(heap[0][-1])
            if not is_infeasible(job_class) or self._waiting.request(job_class) != request:
                return
            heappop(heap)

    def renew_first(self, queue: QueueName) -> None:
        """Give the first job of *queue*, which has got its next pods, its new place.

        While jobs stand in line their pods get places and lose none. Law: the place and the next
        pods are those that asking its groups anew gives. Cost: a look at each pod of the job; none
        once it grows one by one.
        """
        heap = self._own_heap(queue)
        name = heappop(heap)[-1]
        rest = self._growing.get(name)
        if rest is None:
            self._next[name] = self._pods_now(name)
            if self._next[name]:
                heappush(heap, self._key(name))
                self._foresee(name)
            return
        assert self._next[name][0] in self._state.runs[name].pods, "it has got its next pod"
        self._next[name] = (rest.pop(),) if rest else ()
        if self._next[name]:
            heappush(heap, self._place(name, Fullness.ABOVE))

    def look_again(self, names: Iterable[WorkloadName]) -> None:
        """Take in that pods of *names* got or lost places: who stands in line wants less, or more.

        One that can start nothing any more leaves the line. Cost: the length of their lines.
        """
        for name in names:
            queue = self._state.workloads[name].queue
            heap = self._heaps.get(queue, ())
            keys = [key for key in heap if key[-1] != name]
            if len(keys) == len(heap):
                continue
            self._next[name] = self._pods_now(name)
            self._growing.pop(name, None)
            self._put(queue, [*keys, self._key(name)] if self._can_start(name) else keys)

    def gang(self, name: WorkloadName) -> Gang:
        """Return the groups of a job."""
        if self._gang_of is None:
            return Gang(self._state.workloads[name])
        return self._gang_of(name)

    def next_pods(self, name: WorkloadName) -> tuple[PodId, ...]:
        """Return the pods of a job that would start next."""
        place = self._order_key(name)
        if place is not None:
            return place.pods
        pods = self._next.get(name)
        if pods is None:
            pods = self._next[name] = self._pods_now(name)
        return pods

    def attempt(self, name: WorkloadName, pods: tuple[PodId, ...]) -> None:
        """Let *pods* be what a job would start next, whatever else it wants."""
        self._next[name] = pods

    def request(self, name: WorkloadName) -> Amounts:
        """Return what the next pods of a job would cost its queue, on the quota axes."""
        return self._waiting.request(self.job_class(name))

    def _order_key(self, name: WorkloadName) -> Place | None:
        """Return where a job stands in the lines; None: it would start something else here."""
        if name in self._next:
            return None
        line = self._lines.get(self._state.workloads[name].queue)
        return None if line is None else line.places.get(name)

    def _by_kind(self, queue: QueueName) -> JobsByClass:
        if queue not in self._changed:
            return self._lines[queue].classes
        found: dict[JobClass, list[JobKey]] = {}
        for key in self._sorted(queue):
            found.setdefault(self.job_class(key[-1]), []).append(key)
        return found

    def _sorted(self, queue: QueueName) -> list[JobKey]:
        """Return who is in the line of a queue, in order."""
        heap = self._heaps[queue]
        return sorted(heap) if queue in self._changed else heap

    def _pods_now(self, name: WorkloadName) -> tuple[PodId, ...]:
        return self.gang(name).next_pods(self._state.runs.get(name), self._away(name))

    def _line_up_again(self, queue: QueueName, names: Set[WorkloadName]) -> None:
        """Let these stand in line by what they would start next as is known here."""
        line = self._lines[queue]
        there = names & (line.places.keys() | line.unready.keys())
        self._next = {name: self._pods_now(name) for name in there} | self._next
        ready = [name for name in there if self._can_start(name)]
        self._unready[queue] = list((line.unready.keys() | there).difference(ready))
        others = [key for key in line.keys if key[-1] not in there]
        self._put(queue, [*others, *map(self._key, ready)])

    def _cut_off(self, depth: int) -> None:
        """Leave the first so many in each line."""
        for queue, heap in self._heaps.items():
            if len(heap) > depth:
                keys = sorted(heap)
                self.beyond_depth += [name for *_, name in keys[depth:]]
                self._put(queue, keys[:depth])

    def _can_start(self, name: WorkloadName) -> bool:
        return self._state.workloads[name].active and bool(self.next_pods(name))

    def _put(self, queue: QueueName, keys: list[JobKey]) -> None:
        heapify(keys)
        self._heaps[queue] = keys
        self._shared.discard(queue)
        self._changed.add(queue)

    def _own_heap(self, queue: QueueName) -> list[JobKey]:
        """Return the heap of a queue in order to change it."""
        if queue in self._shared:
            self._shared.remove(queue)
            self._changed.add(queue)
            self._heaps[queue] = self._heaps[queue].copy()
        return self._heaps[queue]

    def _foresee(self, name: WorkloadName) -> None:
        """Remember in which order a job will grow, if that is known by now."""
        known = self.gang(name).one_by_one(self._state.runs.get(name), self._away(name))
        if known:
            self._growing[name] = list(reversed(known[1:]))

    def _away(self, name: WorkloadName) -> Set[PodId]:
        evicted, held = self._evicted.get(name), self._held.get(name)
        if held is None:
            return evicted or frozenset()
        return held if evicted is None else held | evicted

    def _key(self, name: WorkloadName) -> JobKey:
        return self._place(name, self.gang(name).fullness(self._state.runs.get(name)))

    def _place(self, name: WorkloadName, fullness: Fullness) -> JobKey:
        return job_order_key(self._state.workloads[name], fullness)
