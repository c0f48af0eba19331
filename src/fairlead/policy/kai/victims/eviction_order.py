"""In which order candidates are evicted for one preemptor: the service order, reversed.

Queues are compared as if they would run nothing next, less what their candidates chosen so far
would give back (which counts in the share only, see `queue_order`). Inside a queue the job that is
served last is evicted first. A job that gave up some of its pods is ordered again with the rest.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.ordering.queue_order import Contender, QueueNumbers, contender, precedes
from fairlead.policy.kai.ordering.tournament import Offer, QueueTournament
from fairlead.policy.kai.victims.candidates import (
    Candidate,
    EligibleCandidates,
    OrderedCandidate,
    in_service_order,
    order_key,
)

VictimFilter: TypeAlias = Callable[[Candidate], bool]
MakeTournament: TypeAlias = Callable[[Offer, Mapping[QueueName, object]], QueueTournament]
"""Makes a tournament by `EVICTION_RULES`; a leaf with the same object makes the same offer."""


class EvictionOrder:
    """Candidates in the order in which they are evicted."""

    def __init__(
        self,
        state: ClusterState,
        candidates: EligibleCandidates,
        filters: Iterable[tuple[QueueName, VictimFilter]],
        make_tournament: MakeTournament,
        most_jobs: int | None = None,
    ) -> None:
        """Order the candidates of the leaves in *filters* that pass the filter of their leaf.

        If several leaves have one, they meet in the tournament. The order ends after *most_jobs*;
        None: after all. The state must be as it is now whenever the order is asked.
        Cost: a look at each leaf.
        """
        self._state = state
        self._leaves: dict[QueueName, _LeafOrder] = {}
        versions: dict[QueueName, object] = {}
        for queue, passes in filters:
            own = candidates.of(queue)
            if own and passes(own[-1][1]):
                versions[queue] = own
                self._leaves[queue] = _LeafOrder(own, passes)
            elif own and (leaf := _LeafOrder(own, passes)).peek() is not None:
                versions[queue] = leaf  # its offer is not that of the last candidate
                self._leaves[queue] = leaf
        self._popped: dict[QueueName, Amounts] = {}
        several = len(versions) > 1
        self._tournament = make_tournament(self._offer, versions) if several else None
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
