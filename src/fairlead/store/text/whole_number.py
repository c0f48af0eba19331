"""Whole numbers in a text that anybody may have edited."""

from typing import Final

MOST_DIGITS: Final = 40
"""All bytes that Kubernetes can count, for 292 years in milliseconds, are 32 digits."""


def whole_number(text: str) -> int:
    """Return the number; raise ValueError for anything but digits with a sign, and for too many.

    What else int() takes is a slip in a table, and no amount is as long as what it refuses.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"found {text!r}, expected a whole number")
    if len(digits) > MOST_DIGITS:
        raise ValueError(
            f"found a number of {len(digits):,} digits, expected at most {MOST_DIGITS}"
        )
    return int(text)
