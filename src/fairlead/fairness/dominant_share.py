"""How much a queue borrows of what others could use: Kueue's dominant resource share.

A queue that borrows is measured, for each resource, by what it borrows relative to what its parent
could lend at most. The highest ratio counts, divided by the queue's weight. This module turns such
numbers into a share and orders shares; which amounts are borrowed and lendable is computed by the
quota tree.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

import msgspec

Rank: TypeAlias = tuple[bool, float]
"""The place of a share in the order, as ``DominantShare.rank`` returns it."""

LEAST_RANK: Rank = (False, 0.0)  # of a queue that borrows nothing

LARGEST_STATUS = 2**63 - 1  # the status field is a signed 64-bit integer


class DominantShare(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The share of one node at one moment; compare two of them by their ``rank``.

    ``borrowing`` can hold while the share is 0: when the parent has nothing to lend.
    """

    ratio: float  # thousandths of the lendable amount, before the weight
    weight: Decimal
    share: float  # ratio / weight; infinite for a borrower of weight 0
    dominant: str | None  # the resource that decides; None while the ratio is 0
    borrowing: bool

    @property
    def rank(self) -> Rank:
        """The one order of shares: a lower rank borrows less, and so is served first.

        Borrowers of weight 0 come after all others and are ordered by their ratio, since their
        shares are all infinite. Equal ranks mean equal claims: break the tie elsewhere.
        """
        weightless = self.weight == 0 and self.ratio != 0
        return (True, self.ratio) if weightless else (False, self.share)

    @property
    def weighted_share_status(self) -> int:
        """The whole number that Kueue shows as ``weightedShare``: rounded up, never wrapping."""
        return LARGEST_STATUS if math.isinf(self.share) else math.ceil(self.share)


def borrowing_ratio(borrowed: int, lendable: int) -> float:
    """Return the borrowed part of the lendable amount in thousandths; 0 if nothing can be lent.

    Both amounts become floats before the product and the quotient, in this order, because Kueue
    does so and its shares are compared bit for bit.
    """
    return float(borrowed) * 1000.0 / float(lendable) if lendable > 0 else 0.0


def rank_of(ratio: float, weight: float) -> Rank:
    """Return the rank of a node whose highest ratio is known, without making the share."""
    if ratio == 0:
        return LEAST_RANK
    return (False, ratio / weight) if weight else (True, ratio)


def weigh(ratio: float, weight: Decimal, dominant: str | None, borrowing: bool) -> DominantShare:
    """Return the share of a node whose highest ratio is known."""
    if ratio == 0:
        share = 0.0
    elif not weight:
        share = math.inf
    else:
        share = ratio / float(weight)
    return DominantShare(
        ratio=ratio, weight=weight, share=share, dominant=dominant, borrowing=borrowing
    )


def dominant_share(
    borrowed: Mapping[str, int], lendable: Mapping[str, int], weight: Decimal
) -> DominantShare:
    """Return the share of a node that borrows these amounts, by resource.

    Of resources with equal ratios the alphabetically first is named dominant. A resource without
    lendable amount counts as borrowed but not in the ratio. Cost: O(n log n).
    """
    worst, dominant = 0.0, None
    for resource in sorted(borrowed):
        ratio = borrowing_ratio(borrowed[resource], lendable.get(resource, 0))
        if ratio > worst:
            worst, dominant = ratio, resource
    borrowing = max(borrowed.values(), default=0) > 0
    return weigh(worst, weight, dominant, borrowing)
