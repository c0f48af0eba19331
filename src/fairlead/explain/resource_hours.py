"""Resource-time as people count it: GPU-hours, core-hours, GiB-hours."""

from fractions import Fraction

from fairlead.model.quantity import is_gpu, is_memory_like, scale_of

HOUR_MS = 3_600_000
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
