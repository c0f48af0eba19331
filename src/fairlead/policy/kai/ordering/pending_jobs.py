"""The pending jobs of each queue while they have their turns, the next one first.

Order inside a queue: higher priority, then further below the minimum, then older, then name. A job
that got some of its pods and can start more takes its new position in that order.

An elastic job may have thousands of pods beyond its minimum and starts one of them in each turn.
Their order is computed once, when the job has its minimum, not in every turn.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Final

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.jobs.alike import JobClass, JobClasses
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from fairlead.policy.kai.ordering.pending_queues import (
    ClassSummary,
    JobKey,
    JobsByClass,
    PendingJob,
    PendingQueue,
    PendingQueues,
    PendingSource,
    job_order_key,
)

NO_PODS: Final[Mapping[WorkloadName, Set[PodId]]] = MappingProxyType({})


class PendingJobs:
    """Heaps of jobs by queue. Only jobs that can start pods are in them."""

    def __init__(
        self,
        state: ClusterState,
        depth: int | None,
        evicted: Mapping[WorkloadName, Set[PodId]] = NO_PODS,
        source: PendingSource | None = None,
        held: Mapping[WorkloadName, Set[PodId]] = NO_PODS,
    ) -> None:
        """Begin without jobs. Of each queue at most the first *depth* jobs are taken; None: all.

        Pods that were *evicted* in this cycle are not pending: they are terminating. *source* has
        the pending jobs of the state; None: they are read here. A job with *held* pods is not
        pending there, but its other pods may become so: a victim of a scenario may get its place
        back.
        """
        self._state = state
        self._depth = depth
        self._evicted = evicted
        self._held = held
        self._source = source or PendingQueues(state, JobClasses(state))
        self._queues: dict[QueueName, PendingQueue] = {}  # that were added
        self._heaps: dict[QueueName, list[JobKey]] = {}
        self._shared: set[QueueName] = set()  # their heaps are those of the queues
        self._changed: set[QueueName] = set()  # their heaps differ from the added queues
        self._classes: dict[QueueName, dict[JobClass, list[JobKey]]] = {}  # of changed queues
        self._next: dict[WorkloadName, tuple[PodId, ...]] = {}
        # Jobs that grow one by one, and their pods after the next one, the last of all first.
        self._growing: dict[WorkloadName, list[PodId]] = {}
        self._unready: dict[QueueName, list[WorkloadName]] = {}  # where it differs from the queue
        self.beyond_depth: list[WorkloadName] = []

    def starting_with(self, classes: Mapping[QueueName, Iterable[JobClass]]) -> "PendingJobs":
        """Return the jobs of these queues, each from its first job of the given *classes* on.

        No job may have had a turn here. Cost: a copy of those queues in C; a lookup for each job of
        a queue that changed.
        """
        made = PendingJobs(self._state, None, self._evicted, self._source, self._held)
        made._queues = self._queues
        made._next = self._next.copy()
        for queue, some in classes.items():
            found = self.classes_of(queue)
            first = min([found[job_class][0] for job_class in some])
            keys = self._sorted(queue)
            made._heaps[queue] = keys[bisect_left(keys, first) :]
        made._changed.update(classes)
        return made

    def remove_queue(self, queue: QueueName) -> None:
        """Remove all jobs of *queue*. Cost: none, however many they are."""
        self._put(queue, [])

    def choose(self, name: WorkloadName, pods: tuple[PodId, ...]) -> None:
        """Let *pods* be what a job starts next, whatever else it could start."""
        self._next[name] = pods

    def add_jobs(self, names: Iterable[WorkloadName]) -> None:
        """Add only *names*, of queues that were not added, if they can start pods."""
        keys: dict[QueueName, list[JobKey]] = {}
        for name in names:
            own = keys.setdefault(self._state.workloads[name].queue, [])
            if self._can_start(name):
                own.append(self._key(name))
        for queue, found in keys.items():
            self._put(queue, found)

    def add_queues(self, queues: Set[QueueName]) -> None:
        """Add the pending jobs of these *queues*, all at once.

        Cost: a copy of the list of queues, if no pod was evicted and there is no depth.
        """
        pending = self._source.queues()
        self._queues = {queue: pending[queue] for queue in queues if queue in pending}
        self._heaps = {queue: each.keys for queue, each in self._queues.items()}
        self._shared = set(self._heaps)
        changed: dict[QueueName, set[WorkloadName]] = {}
        for name in (*self._evicted, *self._held, *self._next):
            changed.setdefault(self._state.workloads[name].queue, set()).add(name)
        for queue in changed.keys() & self._queues.keys():
            self._order_again(queue, changed[queue])
        if self._depth is not None:
            self._cut_off(self._depth)

    @property
    def unready(self) -> list[WorkloadName]:
        """The jobs of the added queues that can start nothing, by queue and name."""
        them = [self._unready.get(queue, each.unready) for queue, each in self._queues.items()]
        return [name for each in them for name in sorted(each)]

    def classes(self) -> Iterator[tuple[QueueName, JobsByClass]]:
        """Yield the queues with their jobs by class. Cost: that of `classes_of` each queue."""
        for queue in self._heaps:
            yield queue, self.classes_of(queue)

    def classes_of(self, queue: QueueName) -> JobsByClass:
        """Return the jobs of *queue* by class; it follows as jobs are dropped.

        Cost: a lookup for each job if the queue changed, once until other jobs than the first do.
        """
        if queue not in self._changed:
            return self._queues[queue].classes
        found = self._classes.get(queue)
        if found is None:
            found = self._classes[queue] = {}
            for key in self._sorted(queue):
                found.setdefault(self.job_class(key[-1]), []).append(key)
        return found

    def summaries(self) -> Mapping[JobClass, ClassSummary]:
        """Return how many jobs are of each class. Cost: that of `classes`."""
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
        """Return the class of a job, by the pods that it would start next."""
        job = self._unchanged(name)
        if job is not None:
            return job.job_class
        return self._source.job_class(name, self.next_pods(name))

    def first(self, queue: QueueName) -> WorkloadName | None:
        """Return the job that *queue* would start next."""
        heap = self._heaps.get(queue)
        return heap[0][-1] if heap else None

    def first_key(self, queue: QueueName) -> JobKey | None:
        """Return the position of the job that *queue* would start next."""
        heap = self._heaps.get(queue)
        return heap[0] if heap else None

    def queues(self) -> list[QueueName]:
        """Return the queues that have jobs here."""
        return [queue for queue, heap in self._heaps.items() if heap]

    def names(self) -> list[WorkloadName]:
        """Return all jobs, in no particular order."""
        return [name for heap in self._heaps.values() for *_, name in heap]

    def next_request(self, queue: QueueName) -> Amounts | None:
        """Return what the next job of *queue* would cost it; None if there is none."""
        name = self.first(queue)
        return None if name is None else self.request(name)

    def drop_first(self, queue: QueueName) -> None:
        """Remove the first job of *queue*: it has all it needs, or cannot have it."""
        self._own_heap(queue)
        self._drop(queue)

    def renew_first(self, queue: QueueName) -> None:
        """Give the first job of *queue*, which got its next pods, its new position.

        While jobs have turns their pods get places and lose none. Law: position and next pods are
        those that its gang gives. Cost: a look at each pod of the job; none once it grows one by
        one.
        """
        heap = self._own_heap(queue)
        name = heappop(heap)[-1]
        self._classes.pop(queue, None)
        rest = self._growing.get(name)
        if rest is None:
            self._next[name] = self._pods_now(name)
            if self._next[name]:
                heappush(heap, self._key(name))
                self._plan_growth(name)
            return
        assert self._next[name][0] in self._state.runs[name].pods, "it has got its next pod"
        self._next[name] = (rest.pop(),) if rest else ()
        if self._next[name]:
            heappush(heap, job_order_key(self._state.workloads[name], Fullness.ABOVE))

    def update(self, names: Iterable[WorkloadName]) -> None:
        """Note that pods of *names* got or lost places, so that they start less or more.

        A job that can start nothing any more is removed. Cost: the length of their queues.
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
        """Return the gang of a job."""
        return Gang(self._state.workloads[name])

    def next_pods(self, name: WorkloadName) -> tuple[PodId, ...]:
        """Return the pods of a job that would start next."""
        job = self._unchanged(name)
        if job is not None:
            return job.pods
        pods = self._next.get(name)
        if pods is None:
            pods = self._next[name] = self._pods_now(name)
        return pods

    def request(self, name: WorkloadName) -> Amounts:
        """Return what the next pods of a job would cost its queue, on the quota axes."""
        return self._source.request(self.job_class(name))

    def _unchanged(self, name: WorkloadName) -> PendingJob | None:
        """Return a job as its added queue has it; None: it would start something else here."""
        if name in self._next:
            return None
        queue = self._queues.get(self._state.workloads[name].queue)
        return None if queue is None else queue.jobs.get(name)

    def _sorted(self, queue: QueueName) -> list[JobKey]:
        """Return the jobs of a queue, in order."""
        heap = self._heaps[queue]
        return sorted(heap) if queue in self._changed else heap

    def _pods_now(self, name: WorkloadName) -> tuple[PodId, ...]:
        return self.gang(name).next_pods(self._state.runs.get(name), self._away(name))

    def _order_again(self, queue: QueueName, names: Set[WorkloadName]) -> None:
        """Order these jobs by what they would start next as known here."""
        pending = self._queues[queue]
        there = names & (pending.jobs.keys() | pending.unready.keys())
        self._next = {name: self._pods_now(name) for name in there} | self._next
        ready = [name for name in there if self._can_start(name)]
        self._unready[queue] = list((pending.unready.keys() | there).difference(ready))
        others = [key for key in pending.keys if key[-1] not in there]
        self._put(queue, [*others, *map(self._key, ready)])

    def _cut_off(self, depth: int) -> None:
        """Leave the first *depth* jobs of each queue."""
        for queue, heap in self._heaps.items():
            if len(heap) > depth:
                keys = sorted(heap)
                self.beyond_depth += [name for *_, name in keys[depth:]]
                self._put(queue, keys[:depth])

    def _can_start(self, name: WorkloadName) -> bool:
        return self._state.workloads[name].active and bool(self.next_pods(name))

    def _drop(self, queue: QueueName) -> None:
        """Remove the first job of *queue*.

        If it got a place in its turn, its class is another by now than the one it is listed in.
        """
        key = heappop(self._heaps[queue])
        classes = self._classes.get(queue)
        if classes is not None:
            job_class = next(each for each, keys in classes.items() if keys[0] == key)
            del classes[job_class][0]
            if not classes[job_class]:
                del classes[job_class]

    def _put(self, queue: QueueName, keys: list[JobKey]) -> None:
        heapify(keys)
        self._classes.pop(queue, None)
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

    def _plan_growth(self, name: WorkloadName) -> None:
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
        fullness = self.gang(name).fullness(self._state.runs.get(name))
        return job_order_key(self._state.workloads[name], fullness)
