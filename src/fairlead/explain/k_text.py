"""How much history weighs, for people: the number that was written, and no digit less."""

from fractions import Fraction

from fairlead.manifest.core.exact_decimal import exact_decimal


def k_text(k: Fraction) -> str:
    """Return *k* as a decimal with nothing rounded, or as a fraction where there is none.

    Law: the text is the number again. Cost: one step for each decimal.
    """
    is_decimal = pow(10, k.denominator.bit_length(), k.denominator) == 0
    return f"{exact_decimal(k):g}" if is_decimal else str(k)
