"""One priority level of a division: rounds among its unsatisfied siblings, and their ranking.

A round offers every unsatisfied sibling its portion of what remains. A sibling that needs no more
than the portion gets its need and is done; the others get the whole units of it and keep the
fraction for step 3. A level keeps parallel lists of the unsatisfied siblings, because a round is
then a handful of passes at the speed of C, and three numbers of each past round, from which the
fractions are computed if units are left over.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import compress
from math import lcm
from operator import itemgetter, lt, sub
from typing import NamedTuple

from fairlead.fairness.division_weights import net_share_weights, usage_terms


class Wanting(NamedTuple):
    """The siblings of one level that have weight and need more than their guarantee.

    Parallel tuples, in the order that breaks ties: older first, then by name.
    """

    siblings: tuple[int, ...]
    needs: tuple[int, ...]  # above 0
    weights: tuple[int, ...]  # above 0
    usages_e9: tuple[int, ...]


class Round(NamedTuple):
    """The terms of a round: portion = remaining * share weight / share_weight_total."""

    remaining: int  # at its start
    weight_total: int  # of the siblings that were unsatisfied then
    share_weight_total: int


class Level:
    """The rounds of one level: the siblings unsatisfied now, and the terms of past rounds."""

    __slots__ = (
        "_entitlements",
        "_penalties",
        "_unit",
        "_weight_scale",
        "needs",
        "rounds",
        "siblings",
    )

    def __init__(self, wanting: Wanting, *, unit: int, k: Fraction) -> None:
        """Take usage that is 0 everywhere as none, which is cheaper to divide by."""
        self.siblings, self.needs, weights, usages_e9 = wanting
        self.rounds: list[Round] = []
        self._unit = unit
        self._entitlements: Sequence[int] = weights
        self._penalties: Sequence[int] = ()  # empty: usage does not count
        self._weight_scale = 1
        if any(usages_e9) and k > 0:  # in this order: a fraction is slow to compare
            self._entitlements, self._penalties = usage_terms(weights, usages_e9, k)
            self._weight_scale = self._entitlements[0] // weights[0]

    def share_weights(self, weight_total: int) -> Sequence[int]:
        """Return the share weight of each unsatisfied sibling, given that sum of weights."""
        if not self._penalties:
            return self._entitlements
        return net_share_weights(self._entitlements, self._penalties, weight_total)

    def next_round(self, remaining: int) -> tuple[Round, Sequence[int]]:
        """Return the terms of the next round, and the share weight of each unsatisfied sibling."""
        weight_total = sum(self._entitlements) // self._weight_scale
        shares = self.share_weights(weight_total)
        return Round(remaining, weight_total, sum(shares)), shares

    def play_round(self, terms: Round, shares: Sequence[int]) -> tuple[int, bool]:
        """Run one round; returns what remains, and whether another must follow.

        Another must follow if a sibling needed strictly less than its portion. Portions are exact
        and sum to all that remained, so in that case something is always left for the next round.
        If the share weights are all 0, no sibling gets anything and the level ends.
        """
        remaining, _, divisor = terms
        if divisor == 0:
            return remaining, False
        self.rounds.append(terms)
        needs = self.needs
        # Needs are whole: a portion covers one exactly if it does so rounded down.
        portions = [remaining * share // divisor for share in shares]
        unmet = tuple(map(lt, portions, needs))
        another = False
        if False in unmet:
            for need, share, short in zip(needs, shares, unmet, strict=True):
                if not short and need * divisor < remaining * share:
                    another = True
                    break
            self._keep(unmet)
            remaining -= sum(needs) - sum(self.needs)
            portions = list(compress(portions, unmet))
        unit = self._unit
        if unit != 1:
            portions = [portion - portion % unit for portion in portions]
        self.needs = tuple(map(sub, self.needs, portions))
        return remaining - sum(portions), another

    def _keep(self, unmet: Sequence[bool]) -> None:
        self.siblings = tuple(compress(self.siblings, unmet))
        self.needs = tuple(compress(self.needs, unmet))
        self._entitlements = tuple(compress(self._entitlements, unmet))
        self._penalties = tuple(compress(self._penalties, unmet))

    def ranking(self) -> tuple[list[tuple[int, int]], int]:
        """Return the siblings that keep a fraction, largest first, then older, then by name.

        Pairs of numerator and sibling, and their common denominator.
        """
        numerators, denominator = self.remembered()
        pairs = zip(numerators, self.siblings, strict=True)
        # The sort is stable and the siblings are in the order of age and name.
        ranked = sorted(compress(pairs, numerators), key=itemgetter(0), reverse=True)
        return ranked, denominator

    def remembered(self) -> tuple[list[int], int]:
        """Return the fraction of a unit that each unsatisfied sibling keeps; 0 for none.

        Numerators, and their common denominator. The newest round counts unless the portion was
        whole there, then the one before, and so on.
        """
        numerators = [0] * len(self.siblings)
        denominator = 1
        for past in reversed(self.rounds):
            divisor = past.share_weight_total * self._unit
            shares = self.share_weights(past.weight_total)
            remaining = past.remaining
            older = [remaining * share % divisor for share in shares]
            if denominator == 1:
                numerators, denominator = older, divisor
            elif any(old and not newer for newer, old in zip(numerators, older, strict=True)):
                common = lcm(denominator, divisor)
                newer_scale, older_scale = common // denominator, common // divisor
                numerators = [
                    newer * newer_scale or old * older_scale
                    for newer, old in zip(numerators, older, strict=True)
                ]
                denominator = common
            if 0 not in numerators:
                break
        return numerators, denominator
