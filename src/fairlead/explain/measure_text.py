"""Numbers of measures as people read them in a table, whatever their form."""

from math import floor, log10
from typing import Final

from fairlead.sim.report.report_page import ShownResource

HOUR_MS: Final = 3_600_000
_UNITS: Final = (("d", 24 * HOUR_MS), ("h", HOUR_MS), ("m", 60_000), ("s", 1000))
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
            return f"{plain_text(value / resource.scale / HOUR_MS)} {resource.unit}h"
    return plain_text(value)


def length_text(length_ms: float) -> str:
    """Return a length of time in its two largest units: ``1d4h``, ``3m20s``, ``1.5s``."""
    if length_ms < 0:
        return f"-{length_text(-length_ms)}"
    if length_ms < 60_000:
        return f"{plain_text(length_ms / 1000)}s"
    at = next(at for at, (_, size) in enumerate(_UNITS) if length_ms >= size)
    (unit, size), (lesser_unit, lesser_size) = _UNITS[at], _UNITS[at + 1]
    lesser = round(length_ms / lesser_size)
    whole, rest = divmod(lesser, size // lesser_size)
    return f"{whole}{unit}" + (f"{rest}{lesser_unit}" if rest else "")


def plain_text(value: float) -> str:
    """Return three digits that count, without an exponent: ``0.125``, ``12.5``, ``3412``."""
    if value == 0:
        return "0"
    decimals = min(MOST_DECIMALS, max(0, 2 - floor(log10(abs(value)))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
