"""Values of single settings, as ``--set`` and sweeps write them."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from fairlead.manifest.text.fields import (
    FieldError,
    check_decimals,
    decimal_of,
    duration_of,
    integer_of,
    positive_of,
)
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.scalar import NumberError, is_written_as_number, number_value

Parse: TypeAlias = Callable[[str], Any]
"""Returns the value that a text means, or raises `FieldError`."""

Overrides: TypeAlias = Mapping[str, Any]
"""Values of settings that rule sets have, by name; what is not there stays as it is."""

_WORDS: Final = {"true": True, "false": False}


def given(**values: Any) -> dict[str, Any]:
    """Return the *values* that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def parse_duration(text: str) -> int:
    """Return a length of time in ms, 0 or more."""
    length_ms, _ = duration_of(text)
    if length_ms < 0:
        message = f"found {quote(text)}, expected 0 or more"
        raise FieldError("out-of-range", message, "write it without the sign, or 0s")
    return length_ms


def parse_positive_duration(text: str) -> int:
    """Return a length of time in ms, more than 0."""
    length_ms, _ = duration_of(text)
    if length_ms <= 0:
        message = f"found {quote(text)}, expected more than 0"
        raise FieldError("out-of-range", message, "write 1ms or more, such as 90s, 1h30m or 7d")
    return length_ms


def _number(text: str) -> Any:
    try:
        return number_value(text)
    except NumberError as wrong:
        if is_written_as_number(text):
            message, fix = str(wrong), "write a number of ordinary size"
        else:
            message = f"found {quote(text)}, expected a number"
            fix = "write digits, perhaps with a point, such as 2 or 0.5"
        raise FieldError("wrong-type", message, fix) from None


def parse_whole(text: str) -> int:
    """Return a whole number, 0 or more."""
    return integer_of(_number(text), 0)


def parse_factor(text: str) -> Fraction:
    """Return an exact number, 0 or more."""
    value = _number(text)
    factor = Fraction(decimal_of(value, 0))
    check_decimals(value, factor)
    return factor


def parse_positive_factor(text: str) -> Fraction:
    """Return an exact number, more than 0."""
    value = _number(text)
    factor = Fraction(positive_of(value))
    check_decimals(value, factor)
    return factor


def parse_word(text: str) -> bool:
    """Return whether the text says true."""
    if text not in _WORDS:
        message = f"found {quote(text)}, expected true or false"
        raise FieldError("wrong-type", message, "write it in small letters")
    return _WORDS[text]
