"""With how few pods less a workload could be admitted that could not be in full.

Each pod set says how many of its pods it could do without. The search cuts all sets at once, each
in proportion to what it could do without, and looks for the smallest cut that helps.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from fairlead.policy.kueue.flavors.assignment import Demand

Counts: TypeAlias = tuple[int, ...]
"""How many pods of each set."""

Found = TypeVar("Found")


def admit_partially(
    demands: Sequence[Demand], attempt: Callable[[Counts], Found | None]
) -> Found | None:
    """Return what *attempt* found with the largest counts; None if it never found anything.

    Halves the range of cuts, as if more pods never did better than fewer. Where they do, because
    others would give way to a large claim and not to a small one, it may miss a smaller cut, as
    Kueue does. Cost: log2 of the pods that could be done without, in attempts.
    """
    spare = [demand.count - demand.fewest() for demand in demands]
    found: dict[int, Found | None] = {}

    def helps(cut: int) -> bool:
        counts = tuple(
            demand.count - own * cut // sum(spare)
            for demand, own in zip(demands, spare, strict=True)
        )
        found[cut] = attempt(counts)
        return found[cut] is not None

    if not any(spare):
        return None
    # A cut of 0 is among them although it is known not to help: with it the same cuts are tried.
    return found.get(bisect_left(range(sum(spare) + 1), True, key=helps))
