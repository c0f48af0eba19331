"""Which queue is next, kept known while jobs come and go and queues fill up.

At every level the children of a queue meet in a knock-out, each with what it offers: the job that
it would run next, or who would be next to give way. For an inner queue that is the offer of the
child that wins below it. A change in one leaf touches the brackets on its way to the top and no
others.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.knock_out import KnockOut
from fairlead.policy.kai.queue_order import QueueNumbers, Standing, precedes, standing

Offer: TypeAlias = Callable[[QueueName], Amounts | None]
"""What a leaf enters the race with; None: nothing, so it is out."""


def numbers_above(
    state: ClusterState, numbers: Mapping[QueueName, QueueNumbers], leaves: Iterable[QueueName]
) -> dict[QueueName, QueueNumbers]:
    """Return of *numbers* those of *leaves* and of all above them, parents before children."""
    return {name: numbers[name] for leaf in leaves for name in reversed(state.path(leaf))}


class QueueRace:
    """The brackets of a tree of queues."""

    def __init__(
        self,
        state: ClusterState,
        numbers: Mapping[QueueName, QueueNumbers],
        offer: Offer,
        stand: Callable[[QueueNumbers, Amounts], Standing] = standing,
        before: Callable[[Standing, Standing], bool] = precedes,
    ) -> None:
        """Let the queues in *numbers*, all that are in the tree, meet with what leaves *offer*.

        *stand* says how a queue stands with an offer, and *before* which of two wins.
        """
        self._state = state
        self._numbers = numbers
        self._offer = offer
        self._stand = stand
        self._before = before
        self._brackets: dict[QueueName | None, KnockOut[Standing]] = {}
        self._names: dict[QueueName | None, list[QueueName]] = {}
        self._places: dict[QueueName, int] = {}
        self._offers: dict[QueueName, Amounts | None] = {}
        self._standings: dict[QueueName, Standing | None] = {}
        for name in (None, *numbers):
            self._prepare(name)
        for name in reversed(list(numbers)):  # children before parents
            self._enter(name)

    def branch(self, offer: Offer, changed: Iterable[QueueName]) -> "QueueRace":
        """Return another race, in which leaves meet with what they now *offer*.

        That, and what queues hold, must be as in this race but for the leaves that *changed*. Law:
        it is the race that would be made anew. Cost: a copy of the brackets, and the paths of what
        changed.
        """
        made = QueueRace(self._state, {}, offer, self._stand, self._before)
        made._numbers, made._names, made._places = self._numbers, self._names, self._places
        made._brackets = {name: bracket.copy() for name, bracket in self._brackets.items()}
        made._offers = self._offers.copy()
        made._standings = self._standings.copy()
        for leaf in changed:
            made.renew(leaf)
        return made

    def standing(self, queue: QueueName) -> Standing | None:
        """Return how *queue* stands in the race; None if it is out."""
        return self._standings[queue]

    def leader(self) -> QueueName | None:
        """Return the leaf whose offer is next of all; None if all are out."""
        at: QueueName | None = None
        while at in self._brackets:
            place = self._brackets[at].winner()
            if place is None:
                return None
            at = self._names[at][place]
        return at

    def renew(self, leaf: QueueName) -> None:
        """Take notice that *leaf* offers something else, or holds more or less than before."""
        for name in self._state.path(leaf):
            self._enter(name)

    def _prepare(self, parent: QueueName | None) -> None:
        children = [name for name in self._state.children(parent) if name in self._numbers]
        if not children:
            return
        children.sort(key=lambda name: (self._numbers[name].created_ms, name))
        self._names[parent] = children
        self._brackets[parent] = KnockOut(len(children), self._before)
        self._places |= {name: place for place, name in enumerate(children)}

    def _enter(self, name: QueueName) -> None:
        offer = self._best_offer(name)
        self._offers[name] = offer
        entrant = None if offer is None else self._stand(self._numbers[name], offer)
        self._standings[name] = entrant
        parent = self._state.queues[name].parent
        self._brackets[parent].enter(self._places[name], entrant)

    def _best_offer(self, name: QueueName) -> Amounts | None:
        bracket = self._brackets.get(name)
        if bracket is None:
            return self._offer(name)
        winner = bracket.winner()
        return None if winner is None else self._offers[self._names[name][winner]]
