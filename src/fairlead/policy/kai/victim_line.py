"""Who would be next to give way: the order of service, turned round.

A queue stands there with nothing to run, less what its jobs at the head of the line would give
back (which counts in the share only, see `queue_order`). Inside a queue the last job to be served
is the first to give way. A job that gave up some of its pods stands in line again with the rest.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.gang import Fullness, Gang
from fairlead.policy.kai.queue_order import QueueNumbers, Standing, precedes, standing
from fairlead.policy.kai.queue_race import QueueRace

JobKey: TypeAlias = tuple[int, int, int, WorkloadName]


class Candidate(NamedTuple):
    """A job that may give way, with its pods that have a place, by name."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    gang: Gang

    def first_to_go(self) -> tuple[PodId, ...]:
        """Return what the job gives up first: one pod that it can spare, else all it has."""
        spare = self.gang.spare(self.pods)
        return self.pods if spare is None else (spare,)


class VictimLine:
    """Candidates in the order in which they would give way."""

    def __init__(
        self,
        state: ClusterState,
        numbers: Mapping[QueueName, QueueNumbers],
        candidates: Iterable[Candidate],
    ) -> None:
        """Line up *candidates*. Cost: a look at each, sorting, and one at each queue."""
        self._state = state
        self._lines: dict[QueueName, list[tuple[JobKey, Candidate]]] = {}
        self._popped: dict[QueueName, Amounts] = {}
        for candidate in candidates:
            queue = state.workloads[candidate.job].queue
            self._lines.setdefault(queue, []).append((self._key(candidate), candidate))
        for line in self._lines.values():
            line.sort(key=_place_in_line)
        nothing = state.axes.zero

        def stand(own: QueueNumbers, taken: Amounts) -> Standing:
            return standing(own, nothing, taken=taken)

        self._race = QueueRace(state, numbers, self._offer, stand, _gives_way_before)

    def pop(self) -> Candidate | None:
        """Take out who is next to give way; None if nobody is left."""
        queue = self._race.leader()
        if queue is None:
            return None
        _, candidate = self._lines[queue].pop()
        taken = self._popped.get(queue, self._state.axes.zero)
        self._popped[queue] = tuple(map(add, taken, self._charge(candidate)))
        self._race.renew(queue)
        return candidate

    def put_back(self, candidate: Candidate) -> None:
        """Let a job with the rest of its pods stand in line again."""
        queue = self._state.workloads[candidate.job].queue
        insort(self._lines[queue], (self._key(candidate), candidate), key=_place_in_line)
        self._race.renew(queue)

    def _offer(self, queue: QueueName) -> Amounts | None:
        line = self._lines.get(queue)
        if not line:
            return None
        taken = self._popped.get(queue, self._state.axes.zero)
        return tuple(map(add, taken, self._charge(line[-1][1])))

    def _charge(self, candidate: Candidate) -> Amounts:
        return charge_of(self._state, candidate.job, candidate.pods)

    def _key(self, candidate: Candidate) -> JobKey:
        """Return its place in the order of service, by the pods that it still has."""
        workload = self._state.workloads[candidate.job]
        spare = len(candidate.pods) - candidate.gang.minimum()
        fullness = Fullness.AT if spare == 0 else Fullness.ABOVE if spare > 0 else Fullness.BELOW
        return -workload.priority, fullness, workload.created_ms, workload.name


def _place_in_line(entry: tuple[JobKey, Candidate]) -> JobKey:
    return entry[0]


def charge_of(state: ClusterState, job: WorkloadName, pods: Sequence[PodId]) -> Amounts:
    """Return what *pods* of *job* cost its queue together, on the quota axes."""
    sets = state.workloads[job].pod_sets
    charges = [state.axes.charge(state.resources, sets[pod.pod_set].requests) for pod in pods]
    return charges[0] if len(charges) == 1 else tuple(map(sum, zip(*charges, strict=True)))


def _gives_way_before(one: Standing, other: Standing) -> bool:
    return precedes(other, one)
