"""Dividing one resource among sibling queues by guarantee, priority, weight and past usage.

The rule has three steps: guarantees first; then, priority by priority, rounds in which every
unsatisfied sibling is offered its portion by weight, rounded down to whole units; at the end the
units lost to rounding, one each, by the largest fraction. The rounds and their rounding are part
of the rule: pouring the whole amount in one pass gives other numbers.

Everything is exact. Amounts are whole base units (thousandths of a device, millicores, bytes) and
a portion is compared as a ratio of integers, so the answer cannot depend on the order in which
siblings are listed. This module knows one group of siblings and one resource; `division_tree`
walks whole trees.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import sub
from typing import NamedTuple

import msgspec

from fairlead.fairness.division_level import Level, Round, Wanting
from fairlead.fairness.division_steps import (
    FinalStep,
    GuaranteeStep,
    LeftoverStep,
    RoundEntry,
    RoundStep,
    StepRecorder,
)


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The claim of one queue on one resource: its bounds and its request. No number is negative."""

    guaranteed: int | None  # None: the whole amount
    ceiling: int | None  # None: no limit
    weight: int  # relative to its siblings', on any common scale; 0: nothing beyond the guarantee
    requested: int
    usage_e9: int = 0  # past usage in billionths of the cluster's capacity


class Guarantees(NamedTuple):
    """Siblings after step 1, and which of them take part in step 2."""

    requestable: tuple[int, ...]  # per sibling: the request, cut at the ceiling
    granted: tuple[int, ...]  # per sibling
    granted_total: int
    levels: tuple[Wanting, ...]  # highest priority first


def divide(
    amount: int,
    claims: Sequence[Claim],
    levels: Sequence[Sequence[int]],
    *,
    unit: int,
    k: Fraction,
    steps: StepRecorder | None = None,
) -> list[int]:
    """Divide *amount* among *claims* and return the share of each, in the same order.

    *levels* groups the indexes of the claims by priority, highest first, each group ordered oldest
    first, then by name: that order breaks ties between equal fractions. *unit* is the whole unit in
    base units; *k* says how strongly usage counts, 0 or less not at all.

    The shares sum to at most ``max(amount, guarantees granted)``, and each stays below
    ``min(ceiling, requested) + unit``. Cost: O(unsatisfied) per round, and one sort per level with
    left-over units; each round but the last of a level satisfies at least one sibling.
    """
    guarantees = settle_guarantees(amount, claims, levels)
    return divide_rest(amount, guarantees, unit=unit, k=k, steps=steps)


def settle_guarantees(
    amount: int, claims: Sequence[Claim], levels: Sequence[Sequence[int]]
) -> Guarantees:
    """Step 1: grant each sibling its guarantee, as far as it is requested and permitted.

    *amount* matters only for a guarantee of the whole amount. Without one, the result can be kept
    while the claims stay the same.
    """
    requestable = []
    granted = []
    for claim in claims:
        most = claim.requested
        ceiling = claim.ceiling
        if ceiling is not None and ceiling < most:
            most = ceiling
        guaranteed = claim.guaranteed
        if guaranteed is None:
            guaranteed = amount
        requestable.append(most)
        granted.append(guaranteed if guaranteed < most else most)
    needs = list(map(sub, requestable, granted))
    wanting = tuple([_wanting(positions, claims, needs) for positions in levels])
    return Guarantees(tuple(requestable), tuple(granted), sum(granted), wanting)


def divide_rest(
    amount: int,
    guarantees: Guarantees,
    *,
    unit: int,
    k: Fraction,
    leftovers: bool = True,
    steps: StepRecorder | None = None,
) -> list[int]:
    """Steps 2 and 3: divide what the guarantees leave of *amount*; returns the whole shares.

    Without *leftovers* step 3 is left out, and no lower priority gets what rounding left either:
    each share is the exact one, rounded down to units, so equal claims have equal shares.
    """
    requestable, granted, granted_total, levels = guarantees
    shares = list(granted)
    remaining = amount - granted_total
    if steps is not None:
        steps.append(
            GuaranteeStep(
                amount=amount, requestable=requestable, granted=granted, remaining=remaining
            )
        )

    played: list[Level] = []
    for number, wanting in enumerate(levels):
        if remaining <= 0:
            break
        level = Level(wanting, unit=unit, k=k)
        played.append(level)
        remaining = _run_rounds(number, level, wanting, remaining, steps)
        for sibling in wanting.siblings:
            shares[sibling] = requestable[sibling]
        for sibling, need in zip(level.siblings, level.needs, strict=True):
            shares[sibling] -= need
        if level.siblings and not leftovers:
            return shares

    for number, level in enumerate(played):
        if remaining <= 0:
            break
        remaining = _hand_out_leftovers(number, level, remaining, shares, unit, steps)
    if steps is not None:
        steps.append(FinalStep(shares=tuple(shares), unclaimed=max(0, remaining)))
    return shares


def _wanting(positions: Sequence[int], claims: Sequence[Claim], needs: Sequence[int]) -> Wanting:
    chosen = [position for position in positions if needs[position] and claims[position].weight]
    chosen_claims = [claims[position] for position in chosen]
    return Wanting(
        siblings=tuple(chosen),
        needs=tuple([needs[position] for position in chosen]),
        weights=tuple([claim.weight for claim in chosen_claims]),
        usages_e9=tuple([claim.usage_e9 for claim in chosen_claims]),
    )


def _run_rounds(
    number: int, level: Level, wanting: Wanting, remaining: int, steps: StepRecorder | None
) -> int:
    """Run the rounds of one level; returns what it leaves to the next."""
    another = True
    while another and level.siblings:
        terms, share_weights = level.next_round(remaining)
        siblings, needs = level.siblings, level.needs
        remaining, another = level.play_round(terms, share_weights)
        if steps is not None:
            weight_of = dict(zip(wanting.siblings, wanting.weights, strict=True))
            weights = [weight_of[sibling] for sibling in siblings]
            before = zip(siblings, weights, share_weights, needs, strict=True)
            steps.append(_round_step(number, level, terms, before))
    return remaining


def _hand_out_leftovers(
    number: int,
    level: Level,
    remaining: int,
    shares: list[int],
    unit: int,
    steps: StepRecorder | None,
) -> int:
    """Give one unit to each sibling with a fraction, largest fraction first; returns the rest.

    Neither need nor ceiling is checked here: this is how a share can exceed the request by part of
    a unit.
    """
    ranking, denominator = level.ranking()
    for place, (_, sibling) in enumerate(ranking):
        gift = unit if unit < remaining else remaining
        shares[sibling] += gift
        remaining -= gift
        if steps is not None:
            steps.append(_leftover_step(number, ranking, denominator, place, gift, remaining))
        if remaining == 0:
            break
    return remaining


def _round_step(
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


def _leftover_step(
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
