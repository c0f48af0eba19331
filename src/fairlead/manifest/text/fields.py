"""What one field may hold: plain value in, typed value out, or a `FieldError` that says why not."""

import re
from collections.abc import Callable
from collections.abc import Mapping as Choices
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import count
from sys import intern
from typing import Any, TypeVar, get_args

from fairlead.errors import DurationError, QuantityError
from fairlead.manifest.text.limits import MAX_DECIMALS, MAX_NUMBER
from fairlead.manifest.text.scalar import NumberError, is_written_as_number, number_value
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import Value, describe
from fairlead.model.duration import parse_duration
from fairlead.model.quantity import MAX_QUANTITY, base_units, parse_quantity

T = TypeVar("T")

_NEARLY_QUANTITY = re.compile(
    r"(?P<number>[+-]?[0-9]+(?:\.[0-9]*)?) ?"
    r"(?P<letter>[KMGTPEkgtp]|m(?=[iIbB]))(?P<binary>[iI])?[bB]?"
)


class FieldError(ValueError):
    """A value that its field must not have: what was found and expected, and how to fix it."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix


def text_of(value: Value) -> str:
    """Accept texts only: Kubernetes takes neither 1.20 nor yes for one."""
    if isinstance(value, str):
        return value
    fix = "put it in quotes" if isinstance(value, (int, Decimal)) else "write a text"
    if isinstance(value, bool):
        fix = "put it in quotes: plain yes, no, on, off, y and n mean true or false in YAML"
    raise _wrong_type(value, "a text", fix)


def boolean_of(value: Value) -> bool:
    """Accept true and false."""
    if isinstance(value, bool):
        return value
    raise _wrong_type(value, "true or false", "write true or false, without quotes")


def integer_of(value: Value, minimum: int | None = None, maximum: int | None = None) -> int:
    """Accept a whole number within the bounds; 3.0 is one."""
    number = decimal_of(value, minimum, maximum)
    if number != int(number):
        message = f"found {describe(value)}, expected a whole number"
        raise FieldError("wrong-type", message, "remove the decimals")
    return int(number)


def decimal_of(
    value: Value, minimum: int | None = None, maximum: int | None = None
) -> int | Decimal:
    """Accept a number within the bounds and those of `MAX_NUMBER`, exactly as it is written."""
    number = _number_of(value)
    if minimum is not None and number < minimum:
        message = f"found {describe(value)}, expected at least {minimum}"
        raise FieldError("out-of-range", message, f"write {minimum} or more")
    if maximum is not None and number > maximum:
        message = f"found {describe(value)}, expected at most {maximum}"
        raise FieldError("out-of-range", message, f"write {maximum} or less")
    _check_magnitude(value, number, minimum)
    return number


def positive_of(value: Value) -> int | Decimal:
    """Accept a number above 0, and say of a lower one what is wrong with 0."""
    number = _number_of(value)
    if number <= 0:
        message = f"found {describe(value)}, expected more than 0"
        raise FieldError("out-of-range", message, "write a number above 0, such as 1")
    _check_magnitude(value, number, 0)
    return number


def _number_of(value: Value) -> int | Decimal:
    if not isinstance(value, (int, Decimal)) or isinstance(value, bool):
        raise _no_number(value)
    return value


def factor_of(value: Value) -> Fraction:
    """Accept a quantity that is never rounded, such as a weight: neither huge nor very fine."""
    factor = quantity_of(value)
    _check_magnitude(value, factor)
    check_decimals(value, factor)
    return factor


def check_decimals(value: Value, number: Decimal | Fraction) -> None:
    """Refuse a number with more than `MAX_DECIMALS` decimals, whose exact ratios would be huge."""
    if 10**MAX_DECIMALS % number.as_integer_ratio()[1]:
        message = f"found {describe(value)}, expected at most {MAX_DECIMALS} decimals"
        raise FieldError("out-of-range", message, "round it")


def amount_of(value: Value, resource: str) -> tuple[int, bool]:
    """Accept a quantity of *resource*: its base units, and whether nothing was rounded."""
    quantity = quantity_of(value)
    if abs(quantity) > MAX_QUANTITY:
        message = f"found {describe(value)}, expected at most {MAX_QUANTITY}, which is all that "
        raise FieldError("out-of-range", f"{message}Kubernetes can count", "write a smaller amount")
    return base_units(resource, quantity)


def quantity_of(value: Value) -> Fraction:
    """Accept a Kubernetes quantity, as text or as a number."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Fraction(value)
    expected = "a quantity"
    fix = "write a quantity such as 500m, 1.5, 2Gi or 1e3"
    if not isinstance(value, str):
        raise _wrong_type(value, expected, fix)
    try:
        return parse_quantity(value)
    except QuantityError as wrong:
        expected = _expected_instead(wrong, expected)
        raise FieldError("bad-quantity", _found(value, expected), _near(value) or fix) from None


def duration_of(value: Value) -> tuple[int, bool]:
    """Accept a duration in Go's or Prometheus's form: milliseconds, and whether they are exact."""
    expected = "a duration"
    fix = "write a number with its unit, such as 90s, 1h30m, 7d or 1w"
    if not isinstance(value, str):
        raise _wrong_type(value, expected, fix)
    try:
        return parse_duration(value)
    except DurationError as wrong:
        if value[:1] in ("-", "+") and _is_read_by(parse_duration, value[1:]):
            expected = "a duration without a sign: days, weeks and years have none"
            fix = f"write {value[1:]}, or another duration above 0"
            raise FieldError("bad-duration", _found(value, expected), fix) from None
        told = _expected_instead(wrong, expected)
        cure = fix if told == expected else "write a shorter duration"
        raise FieldError("bad-duration", _found(value, told), cure) from None


def _is_read_by(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, OverflowError):
        return False
    return True


def timestamp_of(value: Value) -> int:
    """Accept an RFC 3339 time: milliseconds since 1970."""
    expected = "a time"
    fix = "write a time such as 2026-11-15T09:30:00Z"
    if not isinstance(value, str):
        raise _wrong_type(value, expected, fix)
    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError):
        if _is_read_by(parse_timestamp, f"{value}Z"):
            expected, fix = (
                "its time zone, too",
                f"write {value}Z for UTC, or such as {value}+01:00",
            )
        raise FieldError("bad-timestamp", _found(value, expected), fix) from None


def words(of: Any) -> dict[str, Any]:
    """Return the words of a ``Literal`` as choices, each of which stands for itself."""
    return {word: word for word in get_args(of)}


def field_names(table: str) -> tuple[str, ...]:
    """Return the names of fields that a long table lists, with white space between them."""
    return tuple(map(intern, table.split()))  # as names in the code are: quicker to look up


def choice_of(value: Value, choices: Choices[str, T]) -> T:
    """Accept one of the words in *choices*, and return what it stands for."""
    if isinstance(value, str) and value in choices:
        return choices[value]
    listed = ", ".join(word or '""' for word in choices)
    guess = did_you_mean(value, choices) if isinstance(value, str) else ""
    fix = guess or f"write one of: {listed}"
    raise FieldError("bad-choice", _found(value, f"one of: {listed}"), fix)


def _check_magnitude(
    value: Value, number: int | Decimal | Fraction, minimum: int | None = None
) -> None:
    """Refuse what is too large, or too far below 0 where there is no *minimum*."""
    if not -MAX_NUMBER <= number <= MAX_NUMBER:  # abs() would round a long Decimal
        most = _power_of_ten(MAX_NUMBER)
        least = f"-{most}" if minimum is None else minimum
        message = f"found {describe(value)}, expected a number between {least} and {most}"
        raise FieldError("out-of-range", message, "write a smaller number")


def _power_of_ten(number: int) -> str:
    return f"1e{len(str(number)) - 1}"


def _wrong_type(value: Value, expected: str, fix: str) -> FieldError:
    return FieldError("wrong-type", _found(value, expected), fix)


def _found(value: Value, expected: str) -> str:
    return f"found {describe(value)}, expected {expected}"


def _expected_instead(wrong: ValueError, expected: str) -> str:
    """Return what the parser wanted if that is more than *expected* says: a bound, as a rule."""
    told = str(wrong).partition(", expected ")[2]
    return expected if told.startswith(expected) else told


def _near(value: str) -> str:
    """Guess which suffix was meant by one that Kubernetes does not know, such as K or GB."""
    match = _NEARLY_QUANTITY.fullmatch(value)
    if match is None:
        return ""
    number, letter = match["number"], match["letter"].upper()
    binary = f"{number}{letter}i"
    if match["binary"]:
        return f"did you mean {binary}?"
    return f"did you mean {number}{'k' if letter == 'K' else letter} or {binary}?"


def _no_number(value: Value) -> FieldError:
    fix = "write a number"
    if isinstance(value, str):
        try:
            number_value(value)
            fix = "remove the quotes"
        except NumberError as wrong:
            if is_written_as_number(value):
                return FieldError("out-of-range", str(wrong), "write a number of ordinary size")
    return _wrong_type(value, "a number", fix)


_TIMESTAMP = re.compile(
    r"(?P<date_and_time>[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<decimals>[0-9]{1,9}))?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=1024)  # objects that were made together have the same times
def parse_timestamp(text: str) -> int:
    """Read an RFC 3339 time as milliseconds since 1970; raise `ValueError` for anything else.

    What is finer than a millisecond is cut off. A leap second (``:60``) is refused, as Go does.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    east = timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
    zone = timezone(-east if match["sign"] == "-" else east)
    moment = datetime.fromisoformat(match["date_and_time"].upper()).replace(tzinfo=zone)
    whole_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    return whole_ms + int((match["decimals"] or "").ljust(3, "0")[:3])


def exact_decimal(value: Fraction) -> Decimal:
    """Return *value*, which must be one with finitely many decimals, with nothing rounded.

    Cost: one step for each decimal.
    """
    places = next(each for each in count() if 10**each % value.denominator == 0)
    scaled = value.numerator * (10**places // value.denominator)
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -places))
