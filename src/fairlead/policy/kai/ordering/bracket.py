"""Finds the first of many where "before" is not transitive, and keeps it found as things change.

When three entrants can beat each other in a circle, who is first depends on who meets whom. So the
bracket is part of the rule, and it never changes its shape: a sorted list or a heap, in which the
meetings depend on what happened before, would give different answers to the same question.
"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

Entrant = TypeVar("Entrant")

NOBODY: Final = -1


class KnockOut(Generic[Entrant]):
    """A knock-out tournament whose winner is known at all times.

    The shape: places 0, 1, 2, ... stand side by side in the first round, filled up with empty
    ones to a power of two. In every round the neighbours (1st and 2nd, 3rd and 4th, ...) meet and
    the one that precedes the other goes on, keeping their order; against an empty place one goes
    on unplayed. Where neither precedes the other, the one further left goes on.

    The winner is always that of the bracket played anew, so it depends on who is in the race and
    at which place, and not on the order in which they entered.
    """

    def __init__(self, size: int, precedes: Callable[[Entrant, Entrant], bool]):
        """Prepare *size* places, all of them empty."""
        self._width = 1 << max(0, size - 1).bit_length()
        # The last one stands for nobody, whose number is -1, and stays None.
        self._entrants: list[Entrant | None] = [None] * (size + 1)
        self._precedes = precedes
        # Match n is fed by matches 2n and 2n + 1; the final is match 1, and from the width on
        # these are the places themselves.
        self._winners = [NOBODY] * (2 * self._width)

    def copy(self) -> "KnockOut[Entrant]":
        """Return another bracket in which everything is as it is here now."""
        made = KnockOut(0, self._precedes)
        made._width = self._width
        made._entrants = self._entrants.copy()
        made._winners = self._winners.copy()
        return made

    def enter(self, place: int, entrant: Entrant | None) -> None:
        """Put *entrant* (None: nobody) at *place*, instead of whoever was there.

        Plays only the matches on the way from there to the final, log2 of the size at most, and
        stops where somebody else wins as before.
        """
        winners, entrants = self._winners, self._entrants
        assert 0 <= place < len(entrants) - 1, "the places are fixed at the start"
        entrants[place] = entrant
        match = self._width + place
        winners[match] = NOBODY if entrant is None else place
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
        """Put *entrants* at all places, instead of whoever was there. Plays every match once."""
        assert len(entrants) == len(self._entrants) - 1, "the places are fixed at the start"
        self._entrants[:-1] = entrants
        winners, there = self._winners, self._entrants
        for place, entrant in enumerate(entrants):
            winners[self._width + place] = NOBODY if entrant is None else place
        for match in range(self._width - 1, 0, -1):
            winner, right = winners[2 * match], winners[2 * match + 1]
            one, other = there[winner], there[right]
            if one is None or (other is not None and self._precedes(other, one)):
                winner = right
            winners[match] = winner

    def winner(self) -> int | None:
        """Return the place of the winner; None if all places are empty."""
        winner = self._winners[1]
        return None if winner == NOBODY else winner
