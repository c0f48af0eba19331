"""Reads the weight of a Kueue object in fair sharing, exactly."""

from decimal import Decimal
from fractions import Fraction

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import exact_decimal
from fairlead.manifest.text.path import Path, quote

_SMALLEST = Fraction(1, 10**9)  # Kueue refuses a weight of this or less, but for 0


def read_fair_weight(spec: Cursor) -> Decimal:
    """Read ``fairSharing.weight`` below *spec*: a quantity, 1 if absent, 0 or above 1e-9."""
    fair_sharing = spec.mapping("fairSharing")
    weight = fair_sharing.fraction("weight", Fraction(1))
    if weight == 0 or weight > _SMALLEST:
        return exact_decimal(weight)
    fair_sharing.error(
        "weight",
        "out-of-range",
        f"found a weight of {_quantity(weight)}, expected 0 or more than 1n (a billionth)",
        "write 0 for a queue that borrows last, or a weight such as 500m, 1 or 2",
    )
    return Decimal(1)


def _quantity(weight: Fraction) -> str:
    """Write a weight that is refused as Kubernetes does: what is tiny in billionths."""
    return f"{exact_decimal(weight / _SMALLEST):f}n" if weight > 0 else f"{exact_decimal(weight):f}"


def read_renamed(at: Cursor, name: str, other_name: str) -> tuple[str, str]:
    """Read the field *name*, or else *other_name* with a warning; return its name and its text.

    Both with different texts is an error, because it is not clear which is meant. "" if neither
    is there.
    """
    text, other_text = at.text(name, ""), at.text(other_name, "")
    if not other_text:
        return name, text
    if not text:
        at.warn(
            other_name,
            "other-version",
            f"found {other_name}, which this version of the API calls {name}; it was read",
            f"write {name}",
        )
        return other_name, other_text
    if text != other_text:
        at.error(
            other_name,
            "contradiction",
            f"found {quote(other_text)}, but {name} says {quote(text)}",
            f"remove {other_name}",
        )
    return name, text


def given_fields(at: Cursor, *keys: str) -> tuple[Path, ...]:
    """Return where those of *keys* are that *at* has; they count as known fields."""
    at.ignore(*keys)
    return tuple((*at.path(), key) for key in keys if at.has(key))
