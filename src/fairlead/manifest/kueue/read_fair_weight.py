"""Reads the weight of a Kueue object in fair sharing, exactly."""

from decimal import Decimal
from fractions import Fraction

from fairlead.manifest.core.exact_decimal import exact_decimal
from fairlead.manifest.text.cursor import Cursor

_SMALLEST = Fraction(1, 10**9)  # Kueue refuses a weight of this or less, but for 0


def read_fair_weight(spec: Cursor) -> Decimal:
    """Read ``fairSharing.weight`` below *spec*: a quantity, 1 if absent, 0 or above 1e-9."""
    fair_sharing = spec.mapping("fairSharing")
    weight = fair_sharing.fraction("weight", Fraction(1))
    if weight == 0 or weight > _SMALLEST:
        return exact_decimal(weight)
    fair_sharing.error(
        "weight",
        "out-of-range",
        f"found a weight of {_quantity(weight)}, expected 0 or more than 1n (a billionth)",
        "write 0 for one that borrows last of all, or a weight such as 500m, 1 or 2",
    )
    return Decimal(1)


def _quantity(weight: Fraction) -> str:
    """Write a weight that is refused as Kubernetes does: what is tiny in billionths."""
    return f"{exact_decimal(weight / _SMALLEST):f}n" if weight > 0 else f"{exact_decimal(weight):f}"
