"""How many pods of a preemptor can find a place at most if all victims are only moved.

Consolidation fails nearly always, and a failed search makes many scenarios: the victims make room,
take it again, and one is left over. A pod that requests twice as much takes two places from pods
like the preemptor's, wherever it goes. So of the places that exist when all have left, those are
subtracted that the victims take again. The rest is an upper bound, whichever of them leave: each
one that stays removes at least as many places as it would take. The same holds for places of the
size of any victim, of which the preemptor's pods take theirs. Without the bound the first hours of
the simulated month take 1.9 times as long.

Consolidation may move the same jobs for every preemptor, and nearly every cycle asks whether that
could help any job. Between two cycles one leaf changed. So the eviction order of each queue is made
from those of its children as far as it was asked for, and kept while nothing in the queue changes.
Ordered anew in every cycle, 14 hours of the simulated month take 1.26 times as long.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import add
from typing import Final, NamedTuple, Protocol

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.ordering.queue_order import Contender, Precedence, QueueNumbers
from fairlead.policy.kai.ordering.tournament import Bracket, Draw
from fairlead.policy.kai.pruning.room import needs_of, times
from fairlead.policy.kai.victims.candidates import (
    EVICTION_RULES,
    Candidate,
    EligibleCandidates,
    OrderedCandidate,
)

_CONTENDER, _BEFORE = EVICTION_RULES
_LOWEST: Final[Precedence] = (False, False, 0, False)
"""Of an empty list, which is never compared."""


class NextVictim(NamedTuple):
    """A candidate, what its leaf has given back with it, and its queue as a contender then."""

    candidate: Candidate
    offer: Amounts
    contender: Contender


class _Order(Protocol):
    """The candidates of one queue in eviction order."""

    def at(self, place: int) -> NextVictim | None:
        """Return the candidate at a position; None if there are not so many."""


class _LeafOrder:
    """The order of a leaf: its candidates from the end."""

    def __init__(self, own: QueueNumbers, candidates: Sequence[OrderedCandidate]) -> None:
        self._own = own
        self._candidates = candidates
        self._known: list[NextVictim] = []

    def at(self, place: int) -> NextVictim | None:
        known = self._known
        while len(known) <= place:
            if len(known) == len(self._candidates):
                return None
            candidate = self._candidates[-1 - len(known)][1]
            offer = candidate.cost()
            if known:
                offer = tuple(map(add, known[-1].offer, offer))
            known.append(NextVictim(candidate, offer, _CONTENDER(self._own, offer)))
        return known[place]


class _Heads:
    """The children of a queue with the first victim of each, before any is evicted."""

    def __init__(self, size: int) -> None:
        self.orders: list[_Order | None] = [None] * size  # at their places in the draw
        self.first: list[NextVictim | None] = [None] * size
        self.bracket: Bracket[Contender] = Bracket(size, _BEFORE)

    def renew(self, orders: Iterable[_Order]) -> bool:
        """Let children enter with these *orders*; returns whether any is another than before.

        Cost: a glance at each, and a few matches for the changed ones.
        """
        is_any_new = False
        for place, order in enumerate(orders):
            if self.orders[place] is not order:
                self.orders[place] = order
                first = self.first[place] = order.at(0)
                self.bracket.enter(place, None if first is None else first.contender)
                is_any_new = True
        return is_any_new


class _InnerOrder:
    """The order of a queue with children. They meet again after each victim."""

    def __init__(self, own: QueueNumbers | None, heads: _Heads) -> None:
        """Begin with the *heads* of the children. *own* is None for the top level."""
        self._own = own
        self._children = heads.orders.copy()
        self._next = heads.first.copy()  # of each child
        self._taken = [0] * len(self._next)  # how many of each have given way
        self._bracket = heads.bracket.copy()
        self._known: list[NextVictim] = []

    def at(self, place: int) -> NextVictim | None:
        known = self._known
        while len(known) <= place:
            winner = self._bracket.winner()
            if winner is None:
                return None
            known.append(self._take_from(winner))
        return known[place]

    def _take_from(self, place: int) -> NextVictim:
        """Take the next victim of a child."""
        child, victim = self._children[place], self._next[place]
        assert child is not None, "a child won that never entered"
        assert victim is not None, "a child won that has no candidate"
        self._taken[place] += 1
        following = self._next[place] = child.at(self._taken[place])
        self._bracket.enter(place, None if following is None else following.contender)
        if self._own is None:
            return victim
        return NextVictim(victim.candidate, victim.offer, _CONTENDER(self._own, victim.offer))


class _Known(NamedTuple):
    """The order of a queue, and all that it was made from except its children."""

    order: _Order
    own: QueueNumbers
    held: list[int]
    source: Sequence[OrderedCandidate]  # the candidates of a leaf


class _First(NamedTuple):
    """The first victims of all, and the least precedence of their topmost queues."""

    candidates: list[Candidate]
    least_precedence: Precedence


class FirstVictims:
    """The eviction order of all candidates of one state, for any preemptor."""

    def __init__(self, state: ClusterState) -> None:
        """Look at no queue yet."""
        self._state = state
        self._draw: Draw | None = None
        self._seen = (0, 0)  # of the logs of changed queues and of changed shares
        self._special: Set[QueueName] = frozenset()  # with candidates that were left out
        self._known: dict[QueueName, _Known] = {}
        self._places: dict[QueueName, int] = {}  # parents before children
        self._heads: dict[QueueName | None, _Heads] = {}  # of queues with children, and of the top
        self._top = _InnerOrder(None, _Heads(0))
        self._first: dict[int | None, _First] = {}  # of the top, by how many
        self._stale: set[QueueName] = set()  # with another order, maybe, and their ancestors

    def first(
        self, most: int | None, division: IncrementalShares, candidates: EligibleCandidates
    ) -> list[Candidate]:
        """Return the first *most* victims (None: all) of *candidates*.

        Law: an `EvictionOrder` of all leaves gives the same, and it is the same list as before
        until something in it may have changed. Cost: a glance at the changed queues; where that may
        matter, these queues and the paths of those with another order, as far as the order is asked
        for.
        """
        changed = self._changed(division, candidates)
        self._stale.update([above for name in changed for above in self._state.path(name)])
        known = self._first.get(most)
        if known is not None and not self._may_matter(most, known, division):
            return known.candidates
        if self._make_anew(self._stale, division, candidates):
            self._top = _InnerOrder(None, self._heads[None])
            self._first.clear()
        self._stale.clear()
        if most not in self._first:
            self._first[most] = self._taken(most)
        return self._first[most].candidates

    def _may_matter(self, most: int | None, known: _First, division: IncrementalShares) -> bool:
        """Return whether other orders of stale queues may change the first victims.

        Precedence decides before all else, and stays the same whichever candidates of a queue
        leave. So a topmost queue does not matter that has a lower one than the *known* victims, now
        and when they were found: it wins no match against theirs.
        """
        if not self._stale:
            return False
        if len(known.candidates) != most:
            return True  # any further candidate is one of them
        first, least = self._heads[None].first, known.least_precedence
        for place, name in enumerate(division.draw.names.get(None, ())):
            if name in self._stale:
                before, own = first[place], division.numbers[name]
                if before is not None and before.contender.precedence >= least:
                    return True
                if _CONTENDER(own, self._state.axes.zero).precedence >= least:
                    return True
        return False

    def _changed(
        self, division: IncrementalShares, candidates: EligibleCandidates
    ) -> Set[QueueName]:
        """Return the queues whose own order may have changed."""
        log, due = division.changes.log(), division.entitled
        (held, was_due), self._seen = self._seen, (log.moment, due.moment)
        before, self._special = self._special, candidates.queues_with_exclusions()
        if division.draw is not self._draw:
            self._draw = division.draw
            self._known.clear()
            self._top = _InnerOrder(None, _Heads(0))
            self._first.clear()
            self._stale.clear()
            children = {None: (), **division.draw.names}
            self._heads = {name: _Heads(len(those)) for name, those in children.items()}
            self._places = {name: place for place, name in enumerate(division.numbers)}
            return self._places.keys()
        return {*log.since(held), *due.since(was_due), *before, *self._special}

    def _make_anew(
        self, names: Set[QueueName], division: IncrementalShares, candidates: EligibleCandidates
    ) -> bool:
        """Make the changed orders of queues anew; return whether there are any."""
        places, known, heads = self._places, self._known, self._heads
        for name in sorted(names & places.keys(), key=places.__getitem__, reverse=True):
            own, before = division.numbers[name], known.get(name)
            source = () if name in heads else candidates.of(name)
            is_other = name in heads and self._renew(name, division.draw)
            if (
                not is_other
                and before is not None
                and before.own is own
                and before.held == own.allocated
                and before.source == source
            ):
                continue
            own_heads = heads.get(name)
            order = _InnerOrder(own, own_heads) if own_heads else _LeafOrder(own, source)
            known[name] = _Known(order, own, [*own.allocated], source)
        return self._renew(None, division.draw)

    def _renew(self, name: QueueName | None, draw: Draw) -> bool:
        """Let the children of a queue, or all topmost queues, enter with their orders."""
        children = draw.names.get(name, ())
        return self._heads[name].renew([self._known[child].order for child in children])

    def _taken(self, most: int | None) -> _First:
        found: list[NextVictim] = []
        while most is None or len(found) < most:
            victim = self._top.at(len(found))
            if victim is None:
                break
            found.append(victim)
        precedences = [victim.contender.precedence for victim in found]
        return _First([victim.candidate for victim in found], min(precedences, default=_LOWEST))


class MovablePod(NamedTuple):
    """A pod that could move."""

    node: str
    freed: Amounts  # what its node gains at most
    asked: Amounts  # what it needs elsewhere at least


class MoveBound:
    """Counts places on the nodes of one state for preemptors that all move the same jobs."""

    def __init__(self, rooms: Mapping[str, NodeRoom], pods: Iterable[MovablePod] | None) -> None:
        """Read the nodes that are ready, and all *pods* that could move at once.

        None: these are not certain, so nothing is denied.
        """
        self._rooms = rooms
        self._is_certain = pods is not None
        self._free: dict[str, Sequence[int]] = {}  # where a pod leaves, once all have
        self._asked: Counter[Amounts] = Counter()  # how many of them ask for that
        for node, freed, asked in pods or ():
            room = rooms.get(node)
            if room is not None:  # else nothing is gained there, and a pod may take its place again
                self._free[node] = tuple(map(add, self._free.get(node, room.later), freed))
                self._asked[asked] += 1
        self._known: dict[tuple[tuple[Amounts, ...], Set[str]], bool] = {}

    def allows(self, sizes: Sequence[Amounts], base: Set[str]) -> bool:
        """Return whether pods of *sizes* may all fit on the *base* nodes and those of victims.

        Law: if not, no search can succeed in which no pod may lose its place. Cost: a look at each
        node for each requested size, once for the same sizes and nodes.
        """
        if not self._is_certain:
            return True
        key = tuple(sorted(sizes)), frozenset(base)
        if key not in self._known:
            asked = Counter(sizes)  # first: these nearly always fail
            asked.update(self._asked)
            self._known[key] = all(self._has_places(size, asked, base) for size in asked)
        return self._known[key]

    def _has_places(self, size: Amounts, asked: Counter[Amounts], base: Set[str]) -> bool:
        needs = needs_of(size)
        if not needs:
            return True
        wanted = sum([times(each, needs) * count for each, count in asked.items()])
        places = 0
        for free in self._all_free(base):
            places += times(free, needs)
            if places >= wanted:
                return True
        return False

    def _all_free(self, base: Set[str]) -> Iterable[Sequence[int]]:
        """Yield what is free on every node where a preemptor may look, once all have left."""
        yield from self._free.values()
        for node in base:
            if node not in self._free and node in self._rooms:
                yield self._rooms[node].later


class MoveBounds:
    """The bound for consolidation in one state, kept while nodes and victims are the same."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        """Count nothing yet."""
        self._state = state
        self._finder = finder
        self._known: tuple[int, Sequence[Candidate], MoveBound] | None = None
        self._pods: dict[WorkloadName, tuple[Candidate, Sequence[MovablePod] | None]] = {}

    def bound(self, first: Sequence[Candidate]) -> MoveBound:
        """Return the bound for now, if these are the *first* victims, the same for all preemptors.

        Law: it equals a new one, as long as the same list has the same content. Cost: the pods of
        the victims, if they or the room of any node changed.
        """
        version = self._finder.version()
        known = self._known
        if known is None or known[0] != version or known[1] is not first:
            bound = MoveBound(self._finder.rooms(), self._all_pods(first))
            known = self._known = version, first, bound
        return known[2]

    def _all_pods(self, first: Iterable[Candidate]) -> list[MovablePod] | None:
        """Return all pods of the first victims.

        None where a job gives up one pod after the other: the further victims depend on how far it
        goes.
        """
        pods: list[MovablePod] = []
        for candidate in first:
            known = self._pods.get(candidate.job)
            if known is None or known[0] is not candidate:
                if len(self._pods) > 2 * len(self._state.workloads):  # most of them have departed
                    self._pods.clear()
                known = self._pods[candidate.job] = candidate, self._pods_of(candidate)
            if known[1] is None:
                return None
            pods += known[1]
        return pods

    def _pods_of(self, candidate: Candidate) -> list[MovablePod] | None:
        """Return the pods of a victim; None: it gives up one after the other."""
        if len(candidate.evicted_first()) < len(candidate.pods):
            return None
        finder, sets = self._finder, self._state.workloads[candidate.job].pod_sets
        placed = [(sets.of(pod), node) for pod, node in candidate.nodes.items()]
        return [
            MovablePod(node, finder.at_most_freed(held), finder.besides_shares(held))
            for held, node in placed
            if node is not None
        ]
