"""How many pending pods have the same requests, followed through the changes of a state.

Thousands of pending pods have a few shapes. Whether there is room for all of them can be answered
without examining each.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from typing import NamedTuple

from fairlead.model.accounting.pod_sums import count_by_set
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodConstraints, Workload


class Shape(NamedTuple):
    """The requests and constraints of a pod."""

    requests: Amounts
    gpu_share: GpuShare | None
    constraints: PodConstraints


class _Seen(NamedTuple):
    """The pending pods of a workload."""

    pods: tuple[tuple[Shape, int], ...]
    queue: QueueName
    is_marked: bool


class WaitingPods:
    """The pods without a node that a plan may start: not gated, suspended or held."""

    def __init__(self, state: ClusterState, is_marked: Callable[[Workload], bool]) -> None:
        """Follow *state*; nothing is read yet. Queues with marked workloads are counted too."""
        self._state = state
        self._is_marked = is_marked
        self._read_at: int | None = None  # None: nothing was read
        self._seen: dict[WorkloadName, _Seen] = {}
        self._counts: dict[Shape, int] = {}
        self._marked: Counter[QueueName] = Counter()

    def by_shape(self) -> Mapping[Shape, int]:
        """Return how many pending pods each shape has. Cost: the workloads that changed."""
        self._catch_up()
        return self._counts

    def marked_queues(self) -> Set[QueueName]:
        """Return the queues with pending workloads that are marked."""
        self._catch_up()
        return self._marked.keys()

    def _catch_up(self) -> None:
        touched, workloads = self._state.touched, self._state.workloads
        if self._read_at is not None and touched.remembers(self._read_at):
            names = touched.since(self._read_at)
        else:
            self._seen.clear()
            self._counts.clear()
            self._marked.clear()
            names = list(workloads)
        self._read_at = touched.moment
        for name in names:
            seen = self._seen.pop(name, None)
            if seen is not None:
                self._count(seen, -1)
            workload = workloads.get(name)
            pods = () if workload is None else tuple(self._waiting(workload))
            if workload is not None and pods:
                seen = self._seen[name] = _Seen(pods, workload.queue, self._is_marked(workload))
                self._count(seen, 1)

    def _waiting(self, workload: Workload) -> Iterator[tuple[Shape, int]]:
        if not workload.active or workload.name in self._state.holds.workloads:
            return
        run = self._state.runs.get(workload.name)
        placed = count_by_set(workload, tuple(run.pods)) if run else None
        for at, each in enumerate(workload.pod_sets):
            count = each.count - (placed[at] if placed else 0)
            if count and not each.gated:
                yield Shape(each.requests, each.gpu_share, each.constraints), count

    def _count(self, seen: _Seen, sign: int) -> None:
        counts = self._counts
        for shape, count in seen.pods:
            left = counts.get(shape, 0) + sign * count
            if left:
                counts[shape] = left
            else:
                del counts[shape]
        if seen.is_marked:
            self._marked[seen.queue] += sign
            if not self._marked[seen.queue]:
                del self._marked[seen.queue]
