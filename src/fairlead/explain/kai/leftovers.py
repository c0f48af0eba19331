"""The ranking of siblings for the units that rounding leaves, and which siblings to show."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from fairlead.fairness.division_steps import DivisionStep, LeftoverStep, RoundStep

Reason: TypeAlias = Literal["fraction", "order", "priority"]


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One sibling in line; *granted* is 0 for who came too late."""

    sibling: int
    fraction: Fraction
    granted: int
    decided_by: Reason  # order: an equal fraction was older; priority: a higher one took them all


class LeftoverRanking(msgspec.Struct, frozen=True, kw_only=True):
    """The line of one level, the first to get a unit first."""

    level: int
    line: tuple[Ranked, ...]
    winners: int  # so many of the line got something

    def place(self, sibling: int) -> int | None:
        """Return where *sibling* stands, from 0; None if it remembers no fraction."""
        places = (place for place, each in enumerate(self.line) if each.sibling == sibling)
        return next(places, None)


def leftover_rankings(steps: Sequence[DivisionStep]) -> list[LeftoverRanking]:
    """Return the line of every level in which someone remembers a fraction, highest level first.

    Without any unit left by rounding there is no ranking. Law: the winners are the siblings of
    the recorded `LeftoverStep`, in their order. Cost: one sort for each level.
    """
    gifts: dict[int, list[LeftoverStep]] = {}
    last_rounds: dict[int, RoundStep] = {}
    for step in steps:
        if isinstance(step, LeftoverStep):
            gifts.setdefault(step.level, []).append(step)
        elif isinstance(step, RoundStep):
            last_rounds[step.level] = step
    if not gifts:
        return []
    rankings = [_ranking(last, gifts.get(level, [])) for level, last in last_rounds.items()]
    return [ranking for ranking in rankings if ranking.line]


def _ranking(last: RoundStep, gifts: Sequence[LeftoverStep]) -> LeftoverRanking:
    line = [
        Ranked(
            sibling=gift.sibling,
            fraction=gift.fraction,
            granted=gift.granted,
            decided_by=gift.chosen_by,
        )
        for gift in gifts
    ]
    served = {gift.sibling for gift in gifts}
    waiting = [
        (entry.remembered, entry.sibling)
        for entry in last.entries
        if entry.remembered and entry.sibling not in served
    ]
    # The sort is stable and the entries stand in the order of age and name.
    for fraction, sibling in sorted(waiting, key=lambda each: -each[0]):
        reason: Reason = "priority"
        if gifts:
            reason = "order" if fraction == gifts[-1].fraction else "fraction"
        line.append(Ranked(sibling=sibling, fraction=fraction, granted=0, decided_by=reason))
    return LeftoverRanking(level=last.level, line=tuple(line), winners=len(gifts))


MOST_SIBLINGS = 12


def siblings_shown(
    shares: Sequence[int], own: int, rankings: Sequence[LeftoverRanking]
) -> frozenset[int]:
    """Return at most `MOST_SIBLINGS` places in *shares*, always with *own* among them.

    After itself come its neighbours in the line for left-over units, then those around the last
    who got one, its own level first, then the largest shares.
    """
    by_share = sorted(range(len(shares)), key=lambda at: (-shares[at], at))
    candidates = dict.fromkeys([own, *_in_line(own, rankings), *by_share])
    return frozenset(islice(candidates, MOST_SIBLINGS))


def _in_line(own: int, rankings: Sequence[LeftoverRanking]) -> Iterator[int]:
    own_first = sorted(rankings, key=lambda ranking: ranking.place(own) is None)
    for ranking in own_first:
        for centre in (ranking.place(own), ranking.winners - 1):
            if centre is not None:
                near = ranking.line[max(0, centre - 1) : centre + 2]
                yield from (each.sibling for each in near)
