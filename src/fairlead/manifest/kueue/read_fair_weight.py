"""Reads the weight of a Kueue object in fair sharing, exactly."""

from decimal import Decimal
from fractions import Fraction
from itertools import count

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.values import describe

_SMALLEST = Fraction(1, 10**9)  # Kueue refuses a weight of this or less, but for 0


def read_fair_weight(spec: Cursor) -> Decimal:
    """Read ``fairSharing.weight`` below *spec*: a quantity, 1 if absent, 0 or above 1e-9."""
    fair_sharing = spec.mapping("fairSharing")
    weight = fair_sharing.fraction("weight", Fraction(1))
    if weight == 0 or weight > _SMALLEST:
        return _decimal(weight)
    fair_sharing.error(
        "weight",
        "out-of-range",
        f"found {describe(_decimal(weight))}, expected a weight of 0 or more than 0.000000001",
        "write 0 for one that borrows last of all, or a weight such as 500m, 1 or 2",
    )
    return Decimal(1)


def _decimal(value: Fraction) -> Decimal:
    """Return *value*, which was read from a decimal text, with nothing rounded."""
    places = next(each for each in count() if 10**each % value.denominator == 0)
    scaled = value.numerator * (10**places // value.denominator)
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -places))
