"""Who would give way first whoever claims, kept from cycle to cycle, queue by queue.

Consolidation asks the same jobs for the sake of everybody, and in nearly every cycle it is asked
whether that could help anybody. Between two cycles something changed in one leaf. What leaves and
the queues above them give up, one job after the other, is a line for each queue, made from those of
its children as far as anybody has looked; a queue keeps it for as long as nothing in it changed.
"""

from collections.abc import Sequence, Set
from operator import add
from typing import NamedTuple, Protocol

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.askable_pool import AskablePool
from fairlead.policy.kai.followed_shares import FollowedShares
from fairlead.policy.kai.knock_out import KnockOut
from fairlead.policy.kai.queue_order import QueueNumbers, Standing
from fairlead.policy.kai.queue_race import RaceCourse
from fairlead.policy.kai.victim_line import VICTIM_RULES
from fairlead.policy.kai.victim_pool import Candidate, Entry

_STAND, _BEFORE = VICTIM_RULES


class Leaving(NamedTuple):
    """A job that gives way, what its leaf has given back with it, and how its queue stands then."""

    candidate: Candidate
    offer: Amounts
    standing: Standing


class _Line(Protocol):
    """Those of one queue in the order in which they would give way."""

    def at(self, place: int) -> Leaving | None:
        """Return who is at a place; None if there are not so many."""


class _LeafLine:
    """The line of a leaf: that of the pool, from its end."""

    def __init__(self, own: QueueNumbers, line: Sequence[Entry]) -> None:
        self._own = own
        self._line = line
        self._known: list[Leaving] = []

    def at(self, place: int) -> Leaving | None:
        known = self._known
        while len(known) <= place:
            if len(known) == len(self._line):
                return None
            candidate = self._line[-1 - len(known)][1]
            offer = candidate.cost()
            if known:
                offer = tuple(map(add, known[-1].offer, offer))
            known.append(Leaving(candidate, offer, _STAND(self._own, offer)))
        return known[place]


class _InnerLine:
    """The line of a queue with children, who meet anew after each that gives way."""

    def __init__(self, own: QueueNumbers | None, children: Sequence[_Line]) -> None:
        """Take in *children* at their places on the course. *own* is None for the top level."""
        self._own = own
        self._children = children
        self._taken = [0] * len(children)  # how many of each have given way
        self._bracket: KnockOut[Standing] = KnockOut(len(children), _BEFORE)
        self._bracket.enter_all([self._standing(place) for place in range(len(children))])
        self._known: list[Leaving] = []

    def at(self, place: int) -> Leaving | None:
        known = self._known
        while len(known) <= place:
            winner = self._bracket.winner()
            if winner is None:
                return None
            known.append(self._take_from(winner))
        return known[place]

    def _take_from(self, place: int) -> Leaving:
        """Let the next of a child give way."""
        leaving = self._next_of(place)
        assert leaving is not None, "a child won that has nobody"
        self._taken[place] += 1
        self._bracket.enter(place, self._standing(place))
        if self._own is None:
            return leaving
        return leaving._replace(standing=_STAND(self._own, leaving.offer))

    def _standing(self, place: int) -> Standing | None:
        leaving = self._next_of(place)
        return None if leaving is None else leaving.standing

    def _next_of(self, place: int) -> Leaving | None:
        return self._children[place].at(self._taken[place])


class _Known(NamedTuple):
    """The line of a queue, and all that it was made from."""

    line: _Line
    own: QueueNumbers
    held: list[int]
    source: Sequence[object]  # the line of a leaf in the pool, or those of the children


class FirstToLeave:
    """The line of all who could give way in one state, whoever asks."""

    def __init__(self, state: ClusterState) -> None:
        """Look at nobody yet."""
        self._state = state
        self._course: RaceCourse | None = None
        self._seen = (0, 0)  # of what queues hold, and of what they are due
        self._special: Set[QueueName] = frozenset()  # whose lines were not those of the pool
        self._known: dict[QueueName, _Known] = {}
        self._places: dict[QueueName, int] = {}  # parents before children
        self._top = _InnerLine(None, ())
        self._first: dict[int | None, list[Candidate]] = {}  # of the top, by how many

    def first(
        self, most: int | None, division: FollowedShares, pool: AskablePool
    ) -> list[Candidate]:
        """Return the first *most* to give way (None: all) of those in *pool*.

        Law: these are whom a `VictimLine` of all leaves lets out, and the same list as before until
        something in it may have changed. Cost: the queues in which something changed; the paths of
        those that give way otherwise, as far as the line is asked for.
        """
        changed = self._changed(division, pool)
        names = {above for name in changed for above in self._state.path(name)}
        if self._make_anew(names, division, pool):
            top = division.course.names.get(None, ())
            self._top = _InnerLine(None, [self._known[name].line for name in top])
            self._first.clear()
        if most not in self._first:
            self._first[most] = self._taken(most)
        return self._first[most]

    def _changed(self, division: FollowedShares, pool: AskablePool) -> Set[QueueName]:
        """Return the queues that may give way otherwise, by themselves."""
        log, due = division.changes.log(), division.entitled
        (held, was_due), self._seen = self._seen, (log.moment, due.moment)
        before, self._special = self._special, pool.special()
        if division.course is not self._course:
            self._course = division.course
            self._known.clear()
            self._places = {name: place for place, name in enumerate(division.numbers)}
            return self._places.keys()
        return {*log.since(held), *due.since(was_due), *before, *self._special}

    def _make_anew(
        self, names: Set[QueueName], division: FollowedShares, pool: AskablePool
    ) -> bool:
        """Make those lines of queues anew that are others now; return whether any is."""
        children, places, known = division.course.names, self._places, self._known
        is_any_new = False
        for name in sorted(names & places.keys(), key=places.__getitem__, reverse=True):
            own, before = division.numbers[name], known.get(name)
            source: Sequence[object]
            if name in children:
                source = [known[child].line for child in children[name]]
            else:
                source = pool.line(name)
            is_same = before is not None and before.own is own and before.held == own.allocated
            if before is not None and is_same and before.source == source:
                continue
            is_any_new = True
            line: _Line
            if name in children:
                line = _InnerLine(own, [known[child].line for child in children[name]])
            else:
                line = _LeafLine(own, pool.line(name))
            known[name] = _Known(line, own, [*own.allocated], source)
        return is_any_new

    def _taken(self, most: int | None) -> list[Candidate]:
        found: list[Candidate] = []
        while most is None or len(found) < most:
            leaving = self._top.at(len(found))
            if leaving is None:
                break
            found.append(leaving.candidate)
        return found
