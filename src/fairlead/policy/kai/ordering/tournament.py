"""Which queue is next, where "before" is not transitive, and kept known as things change.

When three queues can beat each other in a circle, the first of them depends on which ones meet. So
the draw of the tournament is part of the rule and never changes: a sorted list or a heap, in which
the matches depend on what happened before, would give different answers to the same question.

At every level the children of a queue meet in a bracket, each with its offer: the job that it would
start next, or its next victim. The offer of an inner queue is that of the child that wins below it.
A change in one leaf replays the brackets on its way to the root and no others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare, KaiShares
from fairlead.policy.kai.ordering.queue_order import (
    Contender,
    QueueNumbers,
    contender,
    precedes,
    queue_numbers,
)

Entrant = TypeVar("Entrant")

EMPTY: Final = -1


class Bracket(Generic[Entrant]):
    """A knock-out tournament whose winner is known at all times.

    The shape: places 0, 1, 2, ... are side by side in the first round, filled up with empty ones to
    a power of two. In every round the neighbours (1st and 2nd, 3rd and 4th, ...) meet and the one
    that precedes the other goes on, keeping their order; against an empty place one goes on
    unplayed. Where neither precedes the other, the left one goes on.

    The winner is always that of the bracket played anew, so it depends on the entrants and their
    places, and not on the order in which they entered.
    """

    def __init__(self, size: int, precedes: Callable[[Entrant, Entrant], bool]):
        """Prepare *size* places, all of them empty."""
        self._width = 1 << max(0, size - 1).bit_length()
        # The last one is for the number -1 of an empty place, and stays None.
        self._entrants: list[Entrant | None] = [None] * (size + 1)
        self._precedes = precedes
        # Match n is fed by matches 2n and 2n + 1; the final is match 1, and from the width on
        # these are the places themselves.
        self._winners = [EMPTY] * (2 * self._width)

    def copy(self) -> "Bracket[Entrant]":
        """Return another bracket with the same entrants and winners."""
        made = Bracket(0, self._precedes)
        made._width = self._width
        made._entrants = self._entrants.copy()
        made._winners = self._winners.copy()
        return made

    def enter(self, place: int, entrant: Entrant | None) -> None:
        """Put *entrant* (None: no one) at *place*, instead of the one before.

        Plays only the matches on the way from there to the final, log2 of the size at most, and
        stops where another entrant wins as before.
        """
        winners, entrants = self._winners, self._entrants
        assert 0 <= place < len(entrants) - 1, "the places are fixed at the start"
        entrants[place] = entrant
        match = self._width + place
        winners[match] = EMPTY if entrant is None else place
        while match > 1:
            match //= 2
            winner, right = winners[2 * match], winners[2 * match + 1]
            one, other = entrants[winner], entrants[right]
            if one is None or (other is not None and self._precedes(other, one)):
                winner = right
            if winner == winners[match] != place:
                return
            winners[match] = winner

    def enter_all(self, entrants: Sequence[Entrant | None]) -> None:
        """Put *entrants* at all places. Plays every match once."""
        assert len(entrants) == len(self._entrants) - 1, "the places are fixed at the start"
        self._entrants[:-1] = entrants
        winners, there = self._winners, self._entrants
        for place, entrant in enumerate(entrants):
            winners[self._width + place] = EMPTY if entrant is None else place
        for match in range(self._width - 1, 0, -1):
            winner, right = winners[2 * match], winners[2 * match + 1]
            one, other = there[winner], there[right]
            if one is None or (other is not None and self._precedes(other, one)):
                winner = right
            winners[match] = winner

    def winner(self) -> int | None:
        """Return the place of the winner; None if all places are empty."""
        winner = self._winners[1]
        return None if winner == EMPTY else winner


Offer: TypeAlias = Callable[[QueueName], Amounts | None]
"""What a leaf enters with; None: nothing, so it is out."""


class Draw:
    """Which queues meet: the children of each queue, side by side, the oldest first."""

    def __init__(self, state: ClusterState, queues: Iterable[QueueName]) -> None:
        """Let *queues* take part, which include all their ancestors."""
        self.names: dict[QueueName | None, list[QueueName]] = {}
        for name in queues:
            self.names.setdefault(state.queues[name].parent, []).append(name)
        self.places: dict[QueueName, int] = {}
        for children in self.names.values():
            children.sort(key=lambda name: (state.queues[name].created_ms, name))
            self.places |= {name: place for place, name in enumerate(children)}

    @classmethod
    def of_leaves(cls, state: ClusterState, leaves: Iterable[QueueName]) -> "Draw":
        """Let *leaves* take part, and the queues above them."""
        return cls(state, dict.fromkeys([name for leaf in leaves for name in state.path(leaf)]))


class QueueTournament:
    """The brackets of a tree of queues."""

    def __init__(
        self,
        state: ClusterState,
        draw: Draw,
        numbers: Mapping[QueueName, QueueNumbers],
        offer: Offer,
        leaves: Iterable[QueueName],
        contend: Callable[[QueueNumbers, Amounts], Contender] = contender,
        before: Callable[[Contender, Contender], bool] = precedes,
    ) -> None:
        """Let *leaves* meet with what they *offer*; the others of the *draw* are out.

        *contend* makes a contender of a queue and an offer, and *before* says which of two wins.
        Cost: the paths of the leaves, if there are several.
        """
        self._state = state
        self._draw = draw
        self._numbers = numbers
        self._offer = offer
        self._contend = contend
        self._before = before
        self._brackets: dict[QueueName | None, Bracket[Contender]] = {}  # where any has entered
        self._offers: dict[QueueName, Amounts | None] = {}
        self._standings: dict[QueueName, Contender | None] = {}
        first = list(leaves)
        # A single leaf leads, whatever it holds; it enters when its contender is asked for.
        self._alone = first[0] if len(first) == 1 else None
        if self._alone is None:
            self._enter_all(first)

    def contender(self, queue: QueueName) -> Contender | None:
        """Return *queue* as it is compared in the tournament; None if it is out."""
        self._enter_with_others()
        return self._standings.get(queue)

    def leader(self) -> QueueName | None:
        """Return the leaf whose offer is next of all; None if all are out."""
        if self._alone is not None:
            return None if self._offer(self._alone) is None else self._alone
        at: QueueName | None = None
        while at is None or at in self._draw.names:
            bracket = self._brackets.get(at)
            place = None if bracket is None else bracket.winner()
            if place is None:
                return None
            at = self._draw.names[at][place]
        return at

    def renew(self, leaf: QueueName) -> None:
        """Note that *leaf* has another offer, or holds more or less than before."""
        if leaf == self._alone:
            return
        self._enter_with_others()
        for name in self._state.path(leaf):
            self._enter(name)

    def _enter_with_others(self) -> None:
        """Let a leaf enter that was alone."""
        if self._alone is not None:
            leaf, self._alone = self._alone, None
            self._enter_all([leaf])

    def _enter_all(self, leaves: Iterable[QueueName]) -> None:
        """Let leaves enter, then their ancestors, level by level.

        Where leaves are not all equally deep, a queue enters again after its last child has.
        """
        level: dict[QueueName, None] = dict.fromkeys(leaves)
        while level:
            for name in level:
                self._enter(name)
            parents = [self._state.queues[name].parent for name in level]
            level = dict.fromkeys([parent for parent in parents if parent is not None])

    def _enter(self, name: QueueName) -> None:
        offer = self._best_offer(name)
        self._offers[name] = offer
        entrant = None if offer is None else self._contend(self._numbers[name], offer)
        self._standings[name] = entrant
        parent = self._state.queues[name].parent
        bracket = self._brackets.get(parent)
        if bracket is None:
            size = len(self._draw.names[parent])
            bracket = self._brackets[parent] = Bracket(size, self._before)
        bracket.enter(self._draw.places[name], entrant)

    def _best_offer(self, name: QueueName) -> Amounts | None:
        if name not in self._draw.names:
            return self._offer(name)
        bracket = self._brackets.get(name)
        winner = None if bracket is None else bracket.winner()
        return None if winner is None else self._offers[self._draw.names[name][winner]]


class Division(Protocol):
    """What the rules ask about the queues. Shares are fixed; what a queue holds moves."""

    @property
    def shares(self) -> Mapping[QueueName, KaiShare]:
        """The share of each queue that is connected to the root, parents before children."""

    @property
    def numbers(self) -> Mapping[QueueName, QueueNumbers]:
        """What the queue order compares, in the same order."""

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that may have jobs, in the same order."""

    @property
    def draw(self) -> Draw:
        """Which queues meet in a tournament."""


class DivisionNow:
    """The division of a state, computed from scratch."""

    def __init__(self, state: ClusterState, k: Fraction) -> None:
        """Divide *state* as it is now. Without usage in it, *k* has no effect."""
        total = state.total()
        rows = KaiShares(state, total, k).rows()
        self.shares = {row.queue: row for row in rows}
        self.numbers = {row.queue: queue_numbers(state, row, total) for row in rows}
        self.leaves = {name: None for name in self.shares if not state.children(name)}.keys()
        self.draw = Draw(state, self.shares)
