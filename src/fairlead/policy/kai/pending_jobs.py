"""The jobs that wait in each queue, the next one first.

Order inside a queue: higher priority, then who is further below its minimum, then older, then
name. A job that has got some of its pods and wants more takes its new place in that order.
"""

from collections.abc import Mapping, Set
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.gang import Gang

JobKey: TypeAlias = tuple[int, int, int, WorkloadName]
NOBODY: Final[Mapping[WorkloadName, Set[PodId]]] = MappingProxyType({})


class PendingJobs:
    """Heaps of jobs by queue. Only jobs that can start something are in them."""

    def __init__(
        self,
        state: ClusterState,
        depth: int | None,
        gangs: dict[WorkloadName, Gang] | None = None,
        evicted: Mapping[WorkloadName, Set[PodId]] = NOBODY,
    ) -> None:
        """Take no more than *depth* jobs of each queue, the first ones; None: all.

        *gangs* are those known already, and take in what is found. Pods that were *evicted* in this
        cycle do not wait: they are on their way out.
        """
        self._state = state
        self._depth = depth
        self._evicted = evicted
        self._gangs: dict[WorkloadName, Gang] = {} if gangs is None else gangs
        self._heaps: dict[QueueName, list[JobKey]] = {}
        self._next: dict[WorkloadName, tuple[PodId, ...]] = {}
        self.beyond_depth: list[WorkloadName] = []
        self.unready: list[WorkloadName] = []

    def add_queue(self, queue: QueueName) -> None:
        """Take in what waits in *queue*."""
        keys = []
        for name in self._state.waiting(queue):
            if self._state.workloads[name].active and self.next_pods(name):
                keys.append(self._key(name))
            else:
                self.unready.append(name)
        if self._depth is not None and len(keys) > self._depth:
            keys.sort()
            self.beyond_depth += [name for *_, name in keys[self._depth :]]
            del keys[self._depth :]
        heapify(keys)
        self._heaps[queue] = keys

    def first(self, queue: QueueName) -> WorkloadName | None:
        """Return the job that *queue* would run next."""
        heap = self._heaps[queue]
        return heap[0][-1] if heap else None

    def next_request(self, queue: QueueName) -> Amounts | None:
        """Return what the job that *queue* would run next would cost it; None if there is none."""
        name = self.first(queue)
        return None if name is None else self.request(name)

    def drop_first(self, queue: QueueName) -> None:
        """Let the first job of *queue* go: it has all it wants, or cannot have it."""
        heappop(self._heaps[queue])

    def renew_first(self, queue: QueueName) -> None:
        """Give the first job of *queue*, which has got some pods, its new place."""
        name = heappop(self._heaps[queue])[-1]
        self._next.pop(name, None)
        if self.next_pods(name):
            heappush(self._heaps[queue], self._key(name))

    def gang(self, name: WorkloadName) -> Gang:
        """Return the groups of a job."""
        gang = self._gangs.get(name)
        if gang is None:
            gang = self._gangs[name] = Gang(self._state.workloads[name])
        return gang

    def next_pods(self, name: WorkloadName) -> tuple[PodId, ...]:
        """Return the pods of a job that would start next."""
        pods = self._next.get(name)
        if pods is None:
            away = self._evicted.get(name, frozenset())
            pods = self.gang(name).next_pods(self._state.runs.get(name), away)
            self._next[name] = pods
        return pods

    def claim(self, name: WorkloadName, pods: tuple[PodId, ...]) -> None:
        """Let *pods* be what a job would start next, whatever else it wants."""
        self._next[name] = pods

    def request(self, name: WorkloadName) -> Amounts:
        """Return what the next pods of a job would cost its queue, on the quota axes."""
        state = self._state
        sets = state.workloads[name].pod_sets
        pods = self.next_pods(name)
        if len(pods) == 1:
            requests = sets[pods[0].pod_set].requests
        else:
            rows = [sets[pod.pod_set].requests for pod in pods]
            requests = tuple(map(sum, zip(*rows, strict=True)))
        return state.axes.charge(state.resources, requests)

    def _key(self, name: WorkloadName) -> JobKey:
        workload = self._state.workloads[name]
        fullness = self.gang(name).fullness(self._state.runs.get(name))
        return -workload.priority, fullness, workload.created_ms, name
