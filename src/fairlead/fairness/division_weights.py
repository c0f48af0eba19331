"""Weights as whole numbers: from users' decimals, and after past usage has been counted.

Only the ratio of siblings' weights matters to a division. So these functions return integers in
the right ratio and leave the scale open, which keeps every later comparison exact.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm

BILLION = 10**9  # usage is counted in billionths of the cluster's capacity


def common_scale(weights: Sequence[Decimal]) -> list[int]:
    """The smallest whole numbers in the exact ratio of *weights*: 0.5, 2, 0 become 1, 4, 0."""
    ratios = [weight.as_integer_ratio() for weight in weights]
    denominator = lcm(*(below for _, below in ratios))
    scaled = [above * (denominator // below) for above, below in ratios]
    divisor = gcd(*scaled) or 1
    return [weight // divisor for weight in scaled]


def usage_terms(
    weights: Sequence[int], usages_e9: Sequence[int], k: Fraction
) -> tuple[list[int], list[int]]:
    """Return the two parts of the share weights that stay the same while siblings come and go.

    With w = W / sum and k = n / d, ``w + k * (w - u)`` times ``sum * d * 10**9`` is ``W * (d + n) *
    10**9 - sum * n * u_e9``: an entitlement less the sum times a penalty.
    """
    above = max(0, k.numerator)
    scale = (k.denominator + above) * BILLION
    return [scale * weight for weight in weights], [above * usage for usage in usages_e9]


def net_share_weights(
    entitlements: Sequence[int], penalties: Sequence[int], weight_total: int
) -> list[int]:
    """Entitlement less ``weight_total`` times penalty, and 0 where that is negative."""
    return [
        net if (net := entitlement - weight_total * penalty) > 0 else 0
        for entitlement, penalty in zip(entitlements, penalties, strict=True)
    ]
