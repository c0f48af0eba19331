"""How much a LocalQueue has used of late, as Kueue's admission fair sharing counts it.

What is in use is sampled now and then, and what was sampled before fades with a half-life. Amounts
are billionths of the unit that users write: a core, a byte, a device. Kueue keeps as many places
and cuts off the rest of each product, and so does this; sums and quotients are exact.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ldexp
from typing import Final, TypeAlias

from fairlead.fairness.decay import FRACTION_BITS, decay_factor
from fairlead.model.quantity import scale_of
from fairlead.policy.kueue.settings import AdmissionFairSharing

BILLIONTHS: Final = 10**9
_NOTHING_LEFT: Final = 1000  # half-lives after which no amount that fits a machine leaves a trace

Billionths: TypeAlias = dict[str, int]
"""By resource."""

UseRank: TypeAlias = tuple[bool, Fraction]
"""Sorts those who have used less first; True: what has no weight has used infinitely much."""


def in_billionths(resource: str, amount: int) -> int:
    """Return base units of *resource*, such as millicores, as billionths of a core or byte."""
    return amount * (BILLIONTHS // scale_of(resource))


def part_left(age_ms: int, half_life_ms: int) -> Fraction:
    """Return which part of a use is left after *age_ms*: a half after each half-life.

    Whole half-lives are exact, the rest is so to 48 binary places. Older is never more.
    """
    half_lives, rest_ms = divmod(age_ms, half_life_ms)
    if half_lives > _NOTHING_LEFT:
        return Fraction(0)
    factor = round(ldexp(decay_factor(rest_ms, half_life_ms), FRACTION_BITS))
    return Fraction(factor, 1 << (FRACTION_BITS + half_lives))


def sampled(
    consumed: Mapping[str, int], in_use: Mapping[str, int], age_ms: int, half_life_ms: int
) -> Billionths:
    """Return *consumed*, which is *age_ms* old, as of now, with *in_use* ever since.

    Law: between the two, for each resource, and nearer to *in_use* the older it is.
    """
    left = part_left(age_ms, half_life_ms)
    return {
        name: _cut(left * consumed.get(name, 0)) + _cut((1 - left) * in_use.get(name, 0))
        for name in {**consumed, **in_use}
    }


def entry_penalty(requests: Mapping[str, int], rules: AdmissionFairSharing) -> Billionths:
    """Return what counts as used as soon as *requests* have quota: the first sample ahead of time.

    Else all that a LocalQueue asks for could be admitted before the next sample is taken.
    """
    gained = 1 - part_left(rules.sampling_interval_ms, rules.half_life_ms)
    return {name: _cut(gained * amount) for name, amount in requests.items()}


def use_rank(consumed: Mapping[str, int], rules: AdmissionFairSharing, weight: Fraction) -> UseRank:
    """Return where a LocalQueue of *weight* stands that has *consumed* so much.

    Resources are added up in cores and bytes, each times its weight, which is 1 unless *rules* say
    otherwise: so a byte counts as much as a core.
    """
    if weight <= 0:
        return True, Fraction(0)
    weights = dict(rules.resource_weights)
    total = sum(Fraction(weights.get(name, 1)) * amount for name, amount in consumed.items())
    return False, total / (BILLIONTHS * weight)


def _cut(amount: Fraction) -> int:
    return amount.numerator // amount.denominator
