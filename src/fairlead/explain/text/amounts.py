"""Amounts and plain numbers as people read them, and the order of resources."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from fairlead.manifest.text.fields import exact_decimal
from fairlead.model.axes import Axis
from fairlead.model.quantity import (
    BINARY_SUFFIXES,
    format_amount,
    is_memory_like,
    scale_of,
    show_amount,
)

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


class AxisNumbers(msgspec.Struct, frozen=True):
    """Amounts on one axis by name: cells of a table for people, fields of a document for programs.

    None: there is no limit.
    """

    axis: Axis
    amounts: Mapping[str, int | None]

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the amounts of *names*, or all of them, as people read them."""
        shown = [self.amounts[name] for name in names] if names else self.amounts.values()
        return tuple([amount_text(self.axis, amount) for amount in shown])

    def document(self) -> dict[str, object]:
        """Return the axis and all amounts as programs read them."""
        return {"resource": str(self.axis), **amounts_document(self.axis, self.amounts)}


def amounts_document(axis: Axis, amounts: Mapping[str, int | None]) -> dict[str, str | None]:
    """Return amounts by name as programs read them: exact, and null for no limit."""
    return {
        name: None if amount is None else format_amount(axis.resource, amount)
        for name, amount in amounts.items()
    }


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


def by_interest(axes: Iterable[Axis]) -> list[Axis]:
    """Return each axis once: GPUs first, because they are scarce, then the others as they came."""
    return sorted(dict.fromkeys(axes), key=lambda axis: not axis.resource.endswith("gpu"))


def k_text(k: Fraction) -> str:
    """Return *k* as a decimal with nothing rounded, or as a fraction where there is none.

    Law: the text is the number again. Cost: one step for each decimal.
    """
    is_decimal = pow(10, k.denominator.bit_length(), k.denominator) == 0
    return f"{exact_decimal(k):g}" if is_decimal else str(k)
