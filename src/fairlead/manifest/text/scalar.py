"""What a plain word in YAML means, decided as the YAML reader of Kubernetes decides it.

`on` is true, `1e3` and `010` (octal) and `1_000` are numbers, `12:30` and dates are texts. A number
is its decimal text, exactly. JSON's numbers are a subset and are read by the same rules.
"""

import re
from decimal import Decimal

from fairlead.manifest.text.limits import MAX_NUMBER_LENGTH
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.values import Scalar


class NumberError(ValueError):
    """A number that we will not hold; the text says what was found and what is expected."""


_MAX_MAGNITUDE = 308  # as a power of ten: the range of the doubles that the originals use

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(
        ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True
    ),
    **dict.fromkeys(
        ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False
    ),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_NOT_FINITE = re.compile(r"[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGERS = {  # to the base; 0: as the prefix says
    re.compile(r"[+-]?(?:0|[1-9][0-9]*)"): 10,
    re.compile(r"[+-]?0[0-7]+"): 8,
    re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)"): 0,
}
_DECIMAL = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE](?P<exponent>[+-]?[0-9]+))?")


def plain_value(text: str) -> Scalar:
    """Return what an unquoted word means; raise `NumberError` for NaN and numbers too long.

    A number with an exponent beyond a double's range is a text, as it is for Kubernetes: an
    abbreviated commit such as 12e4567 stays what it was.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) <= MAX_NUMBER_LENGTH:
        return int(text)
    return _number_or_text(text)


def is_written_as_number(text: str) -> bool:
    """Return whether a text is a decimal number of whatever size, such as 1e400."""
    return _DECIMAL.fullmatch(text) is not None


def number_value(text: str) -> int | Decimal:
    """Return what a text means that must be a number; raise `NumberError` if it is none."""
    value = plain_value(text)
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return value
    raise NumberError(f"found {quote(text)}, expected a number below 1e{_MAX_MAGNITUDE}")


def _number_or_text(text: str) -> Scalar:
    plain = text if text[0] == "." else text.replace("_", "")
    for pattern, base in _INTEGERS.items():
        if pattern.fullmatch(plain):
            _check_length(plain)
            return int(plain, base)
    if decimal := _DECIMAL.fullmatch(plain):
        _check_length(plain)
        return _decimal_or_text(text, plain, decimal["exponent"] or "0")
    if _NOT_FINITE.fullmatch(text):
        raise NumberError(f"found {text}, expected a finite number")
    return text


def _decimal_or_text(text: str, plain: str, exponent: str) -> Scalar:
    # Python's own bounds on exponents differ between builds, so ours comes first.
    if len(exponent) <= 6:
        value = Decimal(plain)
        if abs(value.adjusted()) <= _MAX_MAGNITUDE:
            return value
        if not value:
            return Decimal(0)  # 0e5000 is zero, and must not become a power of ten later
    if exponent.startswith("-"):
        raise NumberError(f"found {text[:40]}, expected a number above 1e-{_MAX_MAGNITUDE}")
    return text


def _check_length(digits: str) -> None:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise NumberError(
            f"found a number of {len(digits)} characters, expected at most {MAX_NUMBER_LENGTH}"
        )
