"""Who would be next to give way to one claimant: the order of service, turned round.

A queue stands there with nothing to run, less what its jobs at the head of the line would give
back (which counts in the share only, see `queue_order`). Inside a queue the last job to be served
is the first to give way. A job that gave up some of its pods stands in line again with the rest.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.ordering.queue_order import Contender, QueueNumbers, contender, precedes
from fairlead.policy.kai.ordering.tournament import Offer, QueueTournament
from fairlead.policy.kai.victims.candidates import (
    Candidate,
    EligibleCandidates,
    OrderedCandidate,
    order_key,
)

VictimFilter: TypeAlias = Callable[[Candidate], bool]
MakeTournament: TypeAlias = Callable[[Offer, Mapping[QueueName, object]], QueueTournament]
"""Lets leaves meet by `EVICTION_RULES`; where a leaf has the same line it offers the same."""


class EvictionOrder:
    """Candidates in the order in which they would give way."""

    def __init__(
        self,
        state: ClusterState,
        pool: EligibleCandidates,
        allowed: Iterable[tuple[QueueName, VictimFilter]],
        hold_race: MakeTournament,
    ) -> None:
        """Line up the jobs of the leaves in *allowed* that it allows. Cost: a look at each queue.

        By *hold_race* those leaves meet that have somebody, if there are several. The state must be
        as it is now whenever the line is asked.
        """
        self._state = state
        self._pool = pool
        self._leaves: dict[QueueName, _LeafLine] = {}
        lines: dict[QueueName, object] = {}
        for queue, allows in allowed:
            line = pool.line(queue)
            if line and allows(line[-1][1]):
                lines[queue] = line
                self._leaves[queue] = _LeafLine(line, allows)
            elif line and (leaf := _LeafLine(line, allows)).peek() is not None:
                lines[queue] = leaf  # it offers another one than the line
                self._leaves[queue] = leaf
        self._popped: dict[QueueName, Amounts] = {}
        self._tournament = hold_race(self._offer, lines) if len(lines) > 1 else None

    def pop(self) -> Candidate | None:
        """Take out who is next to give way; None if nobody is left."""
        queue = self._next_queue()
        if queue is None:
            return None
        candidate = self._leaves[queue].pop()
        if self._tournament is not None:
            taken = self._popped.get(queue, self._state.axes.zero)
            self._popped[queue] = tuple(map(add, taken, candidate.cost()))
            self._tournament.renew(queue)
        return candidate

    def put_back(self, candidate: Candidate) -> None:
        """Let a job with the rest of its pods stand in line again."""
        queue = self._state.workloads[candidate.job].queue
        self._leaves[queue].put_back(self._pool.entry(candidate))
        if self._tournament is not None:
            self._tournament.renew(queue)

    def _next_queue(self) -> QueueName | None:
        """Return the leaf that is next; there is no race if there is only one."""
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


class _LeafLine:
    """The line of one leaf: that of the pool up to some place, and who was put back."""

    __slots__ = ("_allows", "_left", "_line", "_put_back")

    def __init__(self, line: Sequence[OrderedCandidate], allows: VictimFilter) -> None:
        self._line = line
        self._left = len(line)
        self._allows = allows
        self._put_back: list[OrderedCandidate] = []

    def peek(self) -> Candidate | None:
        """Return who is next, without taking it out."""
        while self._left and not self._allows(self._line[self._left - 1][1]):
            self._left -= 1
        if self._put_back and (not self._left or self._is_put_back_next()):
            return self._put_back[-1][1]
        return self._line[self._left - 1][1] if self._left else None

    def pop(self) -> Candidate:
        """Take out who is next; there must be somebody."""
        candidate = self.peek()
        assert candidate is not None, "nobody is left in this line"
        if self._put_back and (not self._left or self._is_put_back_next()):
            self._put_back.pop()
        else:
            self._left -= 1
        return candidate

    def put_back(self, entry: OrderedCandidate) -> None:
        insort(self._put_back, entry, key=order_key)

    def _is_put_back_next(self) -> bool:
        return self._put_back[-1][0] > self._line[self._left - 1][0]


def charge_of(state: ClusterState, job: WorkloadName, pods: Sequence[PodId]) -> Amounts:
    """Return what *pods* of *job*, which wait, would cost its queue together."""
    sets = state.workloads[job].pod_sets
    charges = [state.axes.charge(state.resources, sets.of(pod).requests) for pod in pods]
    return charges[0] if len(charges) == 1 else tuple(map(sum, zip(*charges, strict=True)))


def _stands(own: QueueNumbers, taken: Amounts) -> Contender:
    """Return how a queue stands that would run nothing, less what is *taken*."""
    return contender(own, (0,) * len(taken), taken=taken)


def _gives_way_before(one: Contender, other: Contender) -> bool:
    return precedes(other, one)


EVICTION_RULES: Final = (_stands, _gives_way_before)
"""How queues stand, and which of two goes first, in the race for giving way."""


class CappedEvictionOrder(EvictionOrder):
    """The first so many jobs of a line; their pods may be asked for one after the other."""

    def __init__(
        self,
        state: ClusterState,
        pool: EligibleCandidates,
        allowed: Iterable[tuple[QueueName, VictimFilter]],
        hold_race: MakeTournament,
        most: int,
    ) -> None:
        """Line up as `EvictionOrder` does, and let *most* jobs out of it."""
        super().__init__(state, pool, allowed, hold_race)
        self._most = most
        self._jobs: set[WorkloadName] = set()
        self._returned: set[WorkloadName] = set()  # who stands in line again

    def pop(self) -> Candidate | None:
        """Take out who is next to give way; None if nobody is left, or enough were asked."""
        while self._returned or len(self._jobs) < self._most:
            candidate = super().pop()
            if candidate is None:
                return None
            if candidate.job in self._jobs or len(self._jobs) < self._most:
                self._jobs.add(candidate.job)
                self._returned.discard(candidate.job)
                return candidate
        return None

    def put_back(self, candidate: Candidate) -> None:
        """Let a job with the rest of its pods stand in line again."""
        super().put_back(candidate)
        self._returned.add(candidate.job)
