"""Measures as people read them: durations, percentages, GPU-hours."""

from fractions import Fraction
from math import floor, log10
from typing import Final

from fairlead.model.quantity import is_gpu, is_memory_like, scale_of
from fairlead.sim.report.report_page import ShownResource

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
NOTHING: Final = "-"
MOST_DECIMALS: Final = 9


def measure_text(form: str, value: float | None, resource: ShownResource | None = None) -> str:
    """Return *value* in its form, rounded to three digits that count; ``-`` if there is none.

    Resource-time is in hours of the unit in which *resource* is shown.
    """
    if value is None:
        return NOTHING
    match form:
        case "ms":
            return length_text(value)
        case "percent":
            return f"{plain_text(value * 100)}%"
        case "points":  # what two percentages differ by
            return f"{plain_text(value * 100)} points"
        case "amount-time":
            assert resource is not None
            return f"{plain_text(value / resource.scale / HOUR_MS)} {resource.unit}-h"
    return plain_text(value)


def change_text(form: str, value: float | None, resource: ShownResource | None = None) -> str:
    """Return what a measure differs by, with its sign; two percentages differ in points."""
    form = "points" if form == "percent" else form
    text = measure_text(form, value, resource)
    is_more = value is not None and value > 0 and text != measure_text(form, 0, resource)
    return f"+{text}" if is_more else text


def length_text(length_ms: float) -> str:
    """Return a length of time in its two largest units: ``1d4h``, ``3m20s``, ``1.5s``."""
    if length_ms < 0:
        text = length_text(-length_ms)
        return text if text == "0s" else f"-{text}"
    seconds = plain_text(length_ms / SECOND_MS)
    if float(seconds) < 60:
        return f"{seconds}s"
    if (count := _count(length_ms, SECOND_MS)) < 3600:
        return _two_units(count, 60, "m", "s")
    if (count := _count(length_ms, MINUTE_MS)) < 24 * 60:
        return _two_units(count, 60, "h", "m")
    return _two_units(_count(length_ms, HOUR_MS), 24, "d", "h")


def _count(length_ms: float, unit_ms: int) -> int:
    return floor(length_ms / unit_ms + 0.5)


def _two_units(count: int, size: int, large: str, small: str) -> str:
    whole, rest = divmod(count, size)
    return f"{whole}{large}{rest}{small}" if rest else f"{whole}{large}"


def plain_text(value: float) -> str:
    """Return three digits that count, without an exponent: ``0.125``, ``12.5``, ``3412``.

    Halves are rounded away from 0, as in a page: its numbers are the same.
    """
    if value == 0:
        return "0"
    decimals = min(MOST_DECIMALS, max(0, 2 - floor(log10(abs(value)))))
    digits = str(floor(abs(Fraction(value)) * 10**decimals + Fraction(1, 2))).zfill(decimals + 1)
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :].rstrip("0")
    text = f"{whole}.{part}" if part else whole
    return f"-{text}" if value < 0 and text != "0" else text


GIB = 2**30


def hours_unit(resource: str) -> str:
    """Return what `resource_hours` counts *resource* in."""
    if is_gpu(resource):
        return "GPU-h"
    if resource == "cpu":
        return "core-h"
    return "GiB-h" if is_memory_like(resource) else "h"


def resource_hours(resource: str, resource_time: int) -> Fraction:
    """Return base units times milliseconds as hours of `hours_unit`, exactly."""
    size = GIB if is_memory_like(resource) else scale_of(resource)
    return Fraction(resource_time, size * HOUR_MS)


def hours_text(resource: str, resource_time: int) -> str:
    """Return hours to three decimals, without zeros at the end."""
    # Whole thousandths, and not a float, which would show long numbers wrongly.
    thousandths = round(resource_hours(resource, resource_time) * 1000)
    whole, part = divmod(abs(thousandths), 1000)
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{whole}.{part:03d}".rstrip("0").rstrip(".")
