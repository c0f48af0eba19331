"""Records what a division has just done, in a form that can be shown to people.

The division calls this only if it has a recorder. It reads what the level did and computes nothing
that decides a share.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from fairlead.fairness.division_level import Level, Round
from fairlead.fairness.division_steps import LeftoverStep, RoundEntry, RoundStep


def round_step(
    number: int, level: Level, terms: Round, before: Iterable[tuple[int, int, int, int]]
) -> RoundStep:
    """Return the record of the round that level *number* has just run.

    *before* holds, as of its start: sibling, weight, share weight and need.
    """
    total = terms.share_weight_total
    still_needed = dict(zip(level.siblings, level.needs, strict=True))
    numerators, denominator = level.remembered()
    remembered = {
        sibling: Fraction(numerator, denominator)
        for sibling, numerator in zip(level.siblings, numerators, strict=True)
        if numerator
    }
    return RoundStep(
        level=number,
        number=len(level.rounds) if total else len(level.rounds) + 1,
        remaining=terms.remaining,
        weight_total=terms.weight_total,
        share_weight_total=total,
        entries=tuple(
            RoundEntry(
                sibling=sibling,
                weight=weight,
                share_weight=share_weight,
                need=need,
                portion=Fraction(terms.remaining * share_weight, total or 1),
                granted=need - still_needed.get(sibling, 0),
                done=sibling not in still_needed,
                remembered=remembered.get(sibling),
            )
            for sibling, weight, share_weight, need in before
        ),
    )


def leftover_step(
    number: int,
    ranking: Sequence[tuple[int, int]],
    denominator: int,
    place: int,
    granted: int,
    remaining: int,
) -> LeftoverStep:
    """Return the record of the unit given to the sibling at *place* in the *ranking* of a level."""
    numerator, sibling = ranking[place]
    tied = place + 1 < len(ranking) and ranking[place + 1][0] == numerator
    return LeftoverStep(
        level=number,
        sibling=sibling,
        rank=place + 1,
        fraction=Fraction(numerator, denominator),
        chosen_by="order" if tied else "fraction",
        granted=granted,
        remaining=remaining,
    )
