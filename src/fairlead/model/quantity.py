"""Exact amounts: the text of a Kubernetes quantity to a whole number of base units, and back.

Sums of floats depend on the order in which they are added, so no amount is ever a float. A text
is first read as an exact fraction, then counted in the base unit of its resource: millicores for
cpu, thousandths of a device for a GPU, and the resource's own unit (bytes, pods, ...) for the rest.
Text that is finer than the base unit is rounded up, as Kubernetes does, and marked as such.
"""

import re
from fractions import Fraction
from functools import lru_cache

from fairlead.errors import QuantityError

MAX_QUANTITY = 2**63 - 1  # Kubernetes counts units in 64 bits, and silently caps what is more
MAX_TEXT_LENGTH = 64
MAX_EXPONENT = 99  # far beyond `MAX_QUANTITY`, and still cheap to hold

BINARY_SUFFIXES = {
    "Ei": 2**60,
    "Pi": 2**50,
    "Ti": 2**40,
    "Gi": 2**30,
    "Mi": 2**20,
    "Ki": 2**10,
}
DECIMAL_SUFFIXES = {
    "E": 10**18,
    "P": 10**15,
    "T": 10**12,
    "G": 10**9,
    "M": 10**6,
    "k": 10**3,
}
_MULTIPLIERS: dict[str | None, Fraction] = {
    None: Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(size) for suffix, size in DECIMAL_SUFFIXES.items()},
    **{suffix: Fraction(size) for suffix, size in BINARY_SUFFIXES.items()},
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_EXPECTED = "expected a quantity such as 500m, 1.5, 2Gi or 1e3"
_THOUSANDTHS = 1000


@lru_cache(maxsize=4096)  # a cluster repeats a few texts ten thousand times
def parse_quantity(text: str) -> Fraction:
    """Read every form of a Kubernetes quantity exactly; raise `QuantityError` for anything else.

    Law: the result is the decimal number as written times its suffix, with nothing rounded.
    Cost: bounded, whatever the text; absurd lengths and exponents are refused.
    """
    if len(text) > MAX_TEXT_LENGTH:
        raise QuantityError(
            f"found a text of {len(text)} characters, {_EXPECTED} (at most {MAX_TEXT_LENGTH})"
        )
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise QuantityError(f"found {text!r}, {_EXPECTED}")
    number = Fraction(match["number"])
    if match["exponent"] is None:
        return number * _MULTIPLIERS[match["suffix"]]
    exponent = int(match["exponent"])
    if abs(exponent) > MAX_EXPONENT:
        raise QuantityError(
            f"found {text!r}, expected an exponent between -{MAX_EXPONENT} and {MAX_EXPONENT}"
        )
    return number * Fraction(10) ** exponent


def scale_of(resource: str) -> int:
    """How many base units make one of the unit that users write: 1000 for cpu and GPUs, else 1."""
    return _THOUSANDTHS if resource == "cpu" or is_gpu(resource) else 1


def most_base_units(resource: str) -> int:
    """Return the most base units of *resource* that Kubernetes can count."""
    return MAX_QUANTITY * scale_of(resource)


def is_gpu(resource: str) -> bool:
    """Whether *resource* is a kind of GPU, of whatever vendor, counted in devices."""
    return resource == "gpu" or resource.endswith("/gpu")


def base_units(resource: str, value: Fraction) -> tuple[int, bool]:
    """Count *value* in base units of *resource*, and say whether the count is exact.

    What is finer than one base unit is rounded away from zero, as Kubernetes does: a request is
    never taken for less than was asked.
    """
    if value.denominator == 1:  # nearly always, and a product of fractions is slow
        return value.numerator * scale_of(resource), True
    scaled = value * scale_of(resource)
    count = -(-abs(scaled.numerator) // scaled.denominator)
    return (count if scaled >= 0 else -count), scaled.denominator == 1


def format_amount(resource: str, amount: int) -> str:
    """Write base units as Kubernetes would: `1500m`, `2`, `16Gi`; for machines.

    Law: ``base_units(resource, parse_quantity(format_amount(resource, x))) == (x, True)``
    while the text stays within what `parse_quantity` takes. "No limit" has no quantity text;
    where it must be written, use null.
    """
    if is_memory_like(resource):
        return _with_largest_suffix(amount, BINARY_SUFFIXES)
    whole, thousandths = divmod(amount, scale_of(resource))
    return f"{amount}m" if thousandths else _with_largest_suffix(whole, DECIMAL_SUFFIXES)


def show_amount(resource: str, amount: int | None) -> str:
    """Write base units for people: `1.5`, `2000`, `16Gi`, `1500M`; `-` where there is no limit.

    Law: exact, and `parse_quantity` reads it back, as for `format_amount`.
    """
    if amount is None:
        return "-"
    if is_memory_like(resource):
        suffixes = DECIMAL_SUFFIXES if amount % BINARY_SUFFIXES["Ki"] else BINARY_SUFFIXES
        return _with_largest_suffix(amount, suffixes)
    whole, part = divmod(abs(amount), scale_of(resource))
    sign = "-" if amount < 0 else ""
    return f"{sign}{whole}.{part:03d}".rstrip("0") if part else f"{sign}{whole}"


def is_memory_like(resource: str) -> bool:
    """Whether *resource* is counted in bytes, which people write with binary suffixes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def _with_largest_suffix(number: int, suffixes: dict[str, int]) -> str:
    if number:
        for suffix, size in suffixes.items():
            if number % size == 0:
                return f"{number // size}{suffix}"
    return str(number)
