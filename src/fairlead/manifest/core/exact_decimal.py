"""Numbers that were read from decimal text, as decimals again: to keep them, or to quote them."""

from decimal import Decimal
from fractions import Fraction
from itertools import count


def exact_decimal(value: Fraction) -> Decimal:
    """Return *value*, which must be one with finitely many decimals, with nothing rounded.

    Cost: one step for each decimal.
    """
    places = next(each for each in count() if 10**each % value.denominator == 0)
    scaled = value.numerator * (10**places // value.denominator)
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -places))
