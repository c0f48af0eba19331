"""Numbers of a log as whole base units: exactly as written, with no float in between."""

import re
from fractions import Fraction
from typing import Final

MOST: Final = 2**62
"""All bytes of the largest machines, and far more milliseconds than there were; else damage."""

_MOST_DIGITS: Final = 18
_DECIMAL: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,2})?")
_BEYOND: Final = re.compile(
    r"(?P<sign>-?)[0-9]+(?:\.(?P<decimals>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+))?"
)
"""All that is a number, of which only some can be meant."""


def rounded_down(text: str, unit: int | Fraction) -> int:
    """Return *text* times *unit*, cut down to a whole number: for times.

    Raises ValueError for anything but digits with perhaps a point and an exponent, and above
    `MOST`. Cost: bounded.
    """
    if isinstance(unit, int) and text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS:
        return bounded(int(text) * unit)  # nearly always, and a product of fractions is slow
    product = _exact(text) * unit
    return bounded(product.numerator // product.denominator)


def rounded_up(text: str, unit: int | Fraction) -> int:
    """Return *text* times *unit*, rounded up to a whole number, as requests are everywhere."""
    product = _exact(text) * unit
    return bounded(-(-product.numerator // product.denominator))


def bounded(number: int) -> int:
    """Return *number* if it is one that can be meant; raise ValueError if not."""
    if number > MOST:
        raise ValueError(f"found {number:.1e} in base units, expected at most {MOST:.1e}")
    return number


def whole_between(text: str, least: int, most: int) -> int:
    """Return a whole number in these bounds; raise ValueError for anything else.

    What spreadsheets make of whole numbers, such as 4.0, is one too.
    """
    match = re.fullmatch(r"(-?[0-9]{1,18})(?:\.0{1,18})?", text)
    if match is None or not least <= int(match[1]) <= most:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(f"found {shown!r}, expected a whole number from {least:,} to {most:,}")
    return int(match[1])


def _exact(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(f"found {shown!r}, expected {_expected(text)}")
    return Fraction(text)


def _expected(text: str) -> str:
    """Say what is wrong with a *text* that is refused: mostly it is a number all the same."""
    number = _BEYOND.fullmatch(text)
    if number is None:
        return "a number such as 12 or 0.5"
    if number["sign"]:
        return "at least 0"
    if len(number["decimals"] or "") > _MOST_DIGITS:
        return f"at most {_MOST_DIGITS} decimals"
    if (number["exponent"] or "").startswith("-"):
        return "0 or at least 1e-99"
    return f"at most {MOST:.1e} in base units" if number["exponent"] else "less than 1e18"
