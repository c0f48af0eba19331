"""Candidates: the preemptible jobs that hold places and may have to give them up, by queue.

`CandidateSource` is what the rules ask; `Candidates` is its plain answer, read anew every time.
`EligibleCandidates` leaves out the jobs that one action may not evict. `EvictionOrder` has them in
the order in which they are evicted for one preemptor: the service order, reversed. For that, queues
are compared as if they would run nothing next, less what their candidates chosen so far would give
back (which counts in the share only, see `queue_order`). Inside a queue the job that is served last
is evicted first. A job that gave up some of its pods is ordered again with the rest.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import add
from typing import Final, NamedTuple, Protocol, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.jobs.cycle_record import CycleRecord
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from fairlead.policy.kai.ordering.pending_queues import JobKey
from fairlead.policy.kai.ordering.queue_order import Contender, QueueNumbers, contender, precedes
from fairlead.policy.kai.ordering.tournament import Draw, QueueTournament


class Candidate(NamedTuple):
    """A job that may have to give way, with its placed pods by name and what each costs."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    gang: Gang
    costs: Mapping[PodId, Amounts]  # of its queue, on the quota axes
    nodes: Mapping[PodId, str | None]
    nothing: Amounts  # what a pod with only a reservation counts for in the queue order
    reserved: Set[PodId]
    places: Mapping[PodId, Placed]  # of all its pods, to notice changes

    def evicted_first(self) -> tuple[PodId, ...]:
        """Return what the job gives up first: one pod beyond its minimum, else all pods."""
        if len(self.pods) == 1:
            return self.pods
        spare = self.gang.spare(self.pods)
        return self.pods if spare is None else (spare,)

    def cost(self) -> Amounts:
        """Return what its running pods cost its queue together; a reservation costs nothing yet.

        KAI orders queues like this, although it charges them for reservations.
        """
        if len(self.pods) == 1 and not self.reserved:
            return self.costs[self.pods[0]]
        costs = [self.costs[pod] for pod in self.pods if pod not in self.reserved]
        return tuple(map(sum, zip(*costs, strict=True))) if costs else self.nothing


class VictimGroup(NamedTuple):
    """Pods of one job that are evicted together."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    costs: Mapping[PodId, Amounts]  # what each pod of the job costs its queue
    nodes: Mapping[PodId, str | None]  # where each of them runs

    def members(self) -> list[PodKey]:
        """Return the pods with their job."""
        return [(self.job, pod) for pod in self.pods]


OrderedCandidate: TypeAlias = tuple[JobKey, Candidate]
"""A candidate with its position in the service order of its queue."""


class CandidateSource(Protocol):
    """What the rules ask about candidates."""

    def of(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the candidates of a leaf in service order: the last one is evicted first."""

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of the candidates of a leaf; None if it has none."""


class Candidates:
    """Reads the candidates of a state from scratch, every time."""

    def __init__(self, state: ClusterState) -> None:
        """Read from *state*."""
        self._state = state

    def of(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the candidates of a leaf in service order. Cost: all jobs that run."""
        state = self._state
        names = [name for name in state.runs if state.workloads[name].queue == queue]
        found = [candidate_of(state, name) for name in names]
        return sorted([each for each in found if each is not None], key=order_key)

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of the candidates of a leaf; None if it has none."""
        running = [self._state.workloads[name] for name in self._state.runs]
        own = [each for each in running if each.queue == queue and each.preemptible]
        return min([each.priority for each in own], default=None)


class EligibleCandidates:
    """The candidates that one action may evict.

    A job that got a place in this cycle, or that the look-ahead spares, keeps it. So does a job
    that the caller holds as a victim, because the cluster refused to evict a pod of it.
    """

    def __init__(
        self,
        source: CandidateSource,
        state: ClusterState,
        record: CycleRecord,
        spared: Set[PodKey],
        held: Set[WorkloadName] = frozenset(),
        *,
        includes_settled: bool,
    ) -> None:
        """Leave out *held* jobs, jobs with *spared* pods, and those placed according to *record*.

        *includes_settled*: only held jobs are left out, as in KAI.
        """
        self.settled: set[WorkloadName] = set()
        """The jobs that were left out because of a new place."""
        self.held: set[WorkloadName] = set()
        """The jobs that were left out because they are held."""
        self._source = source
        self._state = state
        self._record = record
        self._spared = frozenset() if includes_settled else spared
        self._held = held
        self._left_out: dict[QueueName, set[WorkloadName]] = {}  # whatever the cycle does
        for job in held | {name for name, _ in self._spared}:
            self._left_out.setdefault(state.workloads[job].queue, set()).add(job)
        self._includes_settled = includes_settled

    def of(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the eligible candidates of a leaf in service order.

        Whether a pod is settled changes only with its place. Cost: where the cycle touched jobs of
        the queue or some are left out, a look at each of these.
        """
        every = self._source.of(queue)
        left_out = self._left_out.get(queue) or set[WorkloadName]()
        touched = () if self._includes_settled else self._record.touched().get(queue, ())
        if not left_out and not touched:
            return every
        return self._eligible(every, left_out.union(touched))

    def queues_with_exclusions(self) -> Set[QueueName]:
        """Return the leaves in which a candidate may be left out that may come back."""
        queues = self._left_out.keys()
        return queues if self._includes_settled else queues | self._record.touched().keys()

    def _eligible(
        self, every: list[OrderedCandidate], doubtful: Set[WorkloadName]
    ) -> list[OrderedCandidate]:
        """Leave out the *doubtful* jobs that are held or have a new place."""
        pods = {job: _evictable_pods(self._state, job) for job in doubtful}
        held = {job for job in doubtful & self._held if pods[job]}
        settled = {job for job in doubtful if self._is_settled(job, pods[job])}
        self.held |= held
        self.settled |= settled
        out = held | settled
        return [each for each in every if each[1].job not in out] if out else every

    def _is_settled(self, job: WorkloadName, pods: Iterable[PodId]) -> bool:
        """Return whether one of *pods* of a job is settled; then all of the gang stays."""
        if self._includes_settled:
            return False
        return any(
            (job, pod) in self._spared or self._record.is_settled((job, pod)) for pod in pods
        )


def candidate_of(state: ClusterState, name: WorkloadName) -> OrderedCandidate | None:
    """Return a running job as a candidate; None if nothing of it can be evicted."""
    pods = _evictable_pods(state, name)
    if not pods:
        return None
    workload, run = state.workloads[name], state.runs[name]
    places = dict(run.pods)
    ordered = tuple(pods if len(pods) == 1 else sorted(pods, key=workload.pod_name))
    candidate = Candidate(
        job=workload.name,
        pods=ordered,
        gang=Gang(workload),
        costs={pod: run.charge(pod) for pod in ordered},
        nodes={pod: places[pod].node for pod in ordered},
        nothing=state.axes.zero,
        reserved=frozenset(run.reserved),
        places=places,
    )
    return in_service_order(state, candidate)


def _evictable_pods(state: ClusterState, name: WorkloadName) -> list[PodId]:
    """Return the pods of a job that have a place and can be evicted."""
    run = state.runs.get(name)
    if run is None or not state.workloads[name].preemptible:
        return []
    return [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]


def in_service_order(state: ClusterState, candidate: Candidate) -> OrderedCandidate:
    """Return a candidate with its position, by the pods that it has left."""
    workload = state.workloads[candidate.job]
    spare = len(candidate.pods) - candidate.gang.minimum()
    fullness = Fullness.AT if spare == 0 else Fullness.ABOVE if spare > 0 else Fullness.BELOW
    return (-workload.priority, fullness, workload.created_ms, workload.name), candidate


def order_key(candidate: OrderedCandidate) -> JobKey:
    """Return the position of a candidate."""
    return candidate[0]


def charge_of(state: ClusterState, job: WorkloadName, pods: Sequence[PodId]) -> Amounts:
    """Return what pending *pods* of *job* would cost its queue together."""
    sets = state.workloads[job].pod_sets
    charges = [state.axes.charge(state.resources, sets.of(pod).requests) for pod in pods]
    return charges[0] if len(charges) == 1 else tuple(map(sum, zip(*charges, strict=True)))


VictimFilter: TypeAlias = Callable[[Candidate], bool]


class EvictionOrder:
    """Candidates in the order in which they are evicted."""

    def __init__(
        self,
        state: ClusterState,
        candidates: EligibleCandidates,
        filters: Iterable[tuple[QueueName, VictimFilter]],
        draw: Draw,
        numbers: Mapping[QueueName, QueueNumbers],
        most_jobs: int | None = None,
    ) -> None:
        """Order the candidates of the leaves in *filters* that pass the filter of their leaf.

        If several leaves have one, they meet by *draw* and *numbers*. The order ends after
        *most_jobs*; None: after all. The state must be as it is now whenever the order is asked.
        Cost: a look at each leaf.
        """
        self._state = state
        self._leaves: dict[QueueName, _LeafOrder] = {}
        for queue, passes in filters:
            leaf = _LeafOrder(candidates.of(queue), passes)
            if leaf.peek() is not None:
                self._leaves[queue] = leaf
        self._popped: dict[QueueName, Amounts] = {}
        self._tournament: QueueTournament | None = None
        if len(self._leaves) > 1:
            self._tournament = QueueTournament(
                state, draw, numbers, self._offer, self._leaves, *EVICTION_RULES
            )
        self._most_jobs = most_jobs
        self._jobs: set[WorkloadName] = set()  # that were popped
        self._returned: set[WorkloadName] = set()  # those of them that were put back

    def pop(self) -> Candidate | None:
        """Take out the next victim; None if no candidate is left, or enough jobs were taken."""
        most = self._most_jobs
        while most is None or self._returned or len(self._jobs) < most:
            candidate = self._pop()
            if candidate is None:
                return None
            if most is None or candidate.job in self._jobs or len(self._jobs) < most:
                self._jobs.add(candidate.job)
                self._returned.discard(candidate.job)
                return candidate
        return None

    def put_back(self, candidate: Candidate) -> None:
        """Order a job again with the rest of its pods."""
        queue = self._state.workloads[candidate.job].queue
        self._leaves[queue].put_back(in_service_order(self._state, candidate))
        self._returned.add(candidate.job)
        if self._tournament is not None:
            self._tournament.renew(queue)

    def _pop(self) -> Candidate | None:
        queue = self._next_queue()
        if queue is None:
            return None
        candidate = self._leaves[queue].pop()
        if self._tournament is not None:
            taken = self._popped.get(queue, self._state.axes.zero)
            self._popped[queue] = tuple(map(add, taken, candidate.cost()))
            self._tournament.renew(queue)
        return candidate

    def _next_queue(self) -> QueueName | None:
        """Return the leaf of the next victim; a single leaf needs no tournament."""
        if self._tournament is not None:
            return self._tournament.leader()
        while self._leaves:
            leaf = next(iter(self._leaves))
            if self._leaves[leaf].peek() is not None:
                return leaf
            del self._leaves[leaf]
        return None

    def _offer(self, queue: QueueName) -> Amounts | None:
        leaf = self._leaves.get(queue)
        candidate = None if leaf is None else leaf.peek()
        if candidate is None:
            return None
        taken = self._popped.get(queue, self._state.axes.zero)
        return tuple(map(add, taken, candidate.cost()))


class _LeafOrder:
    """The candidates of one leaf: the first so many of its list, and those put back."""

    __slots__ = ("_candidates", "_left", "_passes", "_put_back")

    def __init__(self, candidates: Sequence[OrderedCandidate], passes: VictimFilter) -> None:
        self._candidates = candidates
        self._left = len(candidates)
        self._passes = passes
        self._put_back: list[OrderedCandidate] = []

    def peek(self) -> Candidate | None:
        """Return the next victim of the leaf, without taking it out."""
        while self._left and not self._passes(self._candidates[self._left - 1][1]):
            self._left -= 1
        if self._put_back and (not self._left or self._is_put_back_next()):
            return self._put_back[-1][1]
        return self._candidates[self._left - 1][1] if self._left else None

    def pop(self) -> Candidate:
        """Take out the next victim; there must be one."""
        candidate = self.peek()
        assert candidate is not None, "the leaf has no candidate left"
        if self._put_back and (not self._left or self._is_put_back_next()):
            self._put_back.pop()
        else:
            self._left -= 1
        return candidate

    def put_back(self, candidate: OrderedCandidate) -> None:
        insort(self._put_back, candidate, key=order_key)

    def _is_put_back_next(self) -> bool:
        return self._put_back[-1][0] > self._candidates[self._left - 1][0]


def _contender(own: QueueNumbers, taken: Amounts) -> Contender:
    """Return a queue that would run nothing next, less what is *taken* from it."""
    return contender(own, (0,) * len(taken), taken=taken)


def _is_evicted_before(one: Contender, other: Contender) -> bool:
    return precedes(other, one)


EVICTION_RULES: Final = (_contender, _is_evicted_before)
"""How queues are compared, and which of two wins, in a tournament for the next victim."""
