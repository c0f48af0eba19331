"""The rule that the design of time-based fair share began with: what is left of one's weight.

A queue's portion is its part of all weights less its part of all use. Made to sum to one, it is
the limit of the known formula max(0, w + k * (w - u)) for a large k. It is here to be compared
with, and is not a way to schedule: a queue that used exactly its part would get nothing.
"""

from collections.abc import Sequence
from fractions import Fraction


def portions(weights: Sequence[Fraction], usages: Sequence[Fraction]) -> list[Fraction]:
    """max(W - U, 0) of each queue, by its part of all weights and its part of the use."""
    return [max(weight - usage, Fraction(0)) for weight, usage in zip(weights, usages, strict=True)]


def normalised_portions(weights: Sequence[Fraction], usages: Sequence[Fraction]) -> list[Fraction]:
    """The portions, made to sum to one; all 0 where every queue has used up its weight."""
    found = portions(weights, usages)
    total = sum(found)
    return [portion / total for portion in found] if total else found
