"""A race of queues that is kept from cycle to cycle, and run again where something changed.

A hundred queues meet in every cycle, and since the last one a job came or went in two of them. Who
stands as before is not asked again.
"""

from collections.abc import Callable, Mapping

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.ordering.queue_order import Contender, QueueNumbers, contender, precedes
from fairlead.policy.kai.ordering.tournament import Draw, Offer, QueueTournament


class IncrementalTournament:
    """The race of all leaves of one state, by one rule."""

    def __init__(
        self,
        state: ClusterState,
        contend: Callable[[QueueNumbers, Amounts], Contender] = contender,
        before: Callable[[Contender, Contender], bool] = precedes,
    ) -> None:
        """Let queues meet as *contend* and *before* say. None has entered yet."""
        self._state = state
        self._rules = contend, before
        self._draw: Draw | None = None
        self._tournament: QueueTournament | None = None
        self._lines: dict[QueueName, object] = {}
        self._known: dict[QueueName, tuple[QueueNumbers, list[int]]] = {}  # with what was held
        self._places: dict[QueueName, int] = {}  # parents before children

    def run(
        self,
        draw: Draw,
        numbers: Mapping[QueueName, QueueNumbers],
        offer: Offer,
        lines: Mapping[QueueName, object],
    ) -> QueueTournament:
        """Return the race of the leaves that have *lines*, with what they *offer* now.

        Whoever has the same line as the last time, the very object, offers the same. Law: it is the
        race that would be made anew, and the caller's own. Cost: a glance at each queue, the paths
        of those that changed, and a copy.
        """
        tournament = self._tournament
        if tournament is None or draw is not self._draw:
            self._draw = draw
            self._places = {name: place for place, name in enumerate(numbers)}
            tournament = QueueTournament(self._state, draw, numbers, offer, lines, *self._rules)
            self._tournament = tournament
            self._known = {name: (own, [*own.allocated]) for name, own in numbers.items()}
        else:
            tournament.enter_again(self._changed(numbers, lines), numbers, offer)
        self._lines = {**lines}
        return tournament.branch(offer, ())

    def _changed(
        self, numbers: Mapping[QueueName, QueueNumbers], lines: Mapping[QueueName, object]
    ) -> list[QueueName]:
        """Return the queues that may stand otherwise, those above them too, children first."""
        known, before = self._known, self._lines
        changed = [leaf for leaf, line in lines.items() if before.get(leaf) is not line]
        changed += [leaf for leaf in before if leaf not in lines]
        for name, own in numbers.items():
            was, held = known[name]
            if was is not own or held != own.allocated:
                known[name] = own, [*own.allocated]
                changed.append(name)
        path = self._state.path
        above = {each for name in changed for each in path(name)}
        return sorted(above, key=self._places.__getitem__, reverse=True)
