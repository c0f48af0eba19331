"""Quantiles that are one of the values, so that they are exact and mean the same everywhere."""

from collections.abc import Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def quantile(ordered: Sequence[Number], percent: int) -> Number | None:
    """The smallest of *ordered* that at least *percent* of 100 of them do not exceed.

    None of nothing. The rank is worked out in whole numbers. Cost: O(1).
    """
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]
