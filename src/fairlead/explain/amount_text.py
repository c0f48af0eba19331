"""Amounts as people read them in a table or a sentence."""

from fractions import Fraction

from fairlead.model.axes import Axis
from fairlead.model.quantity import BINARY_SUFFIXES, is_memory_like, scale_of, show_amount

LONGEST_EXACT = 9
"""An amount of memory with a longer exact text is rounded, with a ~ in front."""


def amount_text(axis: Axis, amount: int | None) -> str:
    """Return a short text of *amount*: exact, or marked with ~ where that would not be read."""
    exact = show_amount(axis.resource, amount)
    if amount is None or len(exact) <= LONGEST_EXACT or not is_memory_like(axis.resource):
        return exact
    for suffix, size in BINARY_SUFFIXES.items():
        if abs(amount) >= size:
            return f"~{amount / size:.2f}{suffix}"
    return exact


def portion_text(axis: Axis, amount: Fraction) -> str:
    """Return a text of an exact portion: to three decimals of the unit that people write."""
    if amount.denominator == 1:
        return amount_text(axis, amount.numerator)
    if is_memory_like(axis.resource):
        return amount_text(axis, int(amount)) + "+"  # part of a byte more
    return number_text(amount / scale_of(axis.resource))


def number_text(value: Fraction | float | None) -> str:
    """Return a plain number to three decimals; None is infinite."""
    if value is None:
        return "inf"
    return f"{float(value):.3f}".rstrip("0").rstrip(".")
