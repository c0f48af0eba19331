"""What is told to Prometheus, before it becomes text: families of gauges with exact values.

Every number here is a state of affairs, so every family is a gauge: who reads objects has seen
nothing happen, and a counter that never counts would be a lie.
"""

from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from fairlead.model.quantity import scale_of

UNLIMITED: Final = Decimal("Infinity")

Sample: TypeAlias = tuple[tuple[str, ...], Decimal]
"""The values of the family's labels, in their order, and the number."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """All samples of one name. No two of them have the same labels."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    samples: tuple[Sample, ...]


def in_units(resource: str, amount: int) -> Decimal:
    """Base units as the whole unit that users count in: cores, devices, bytes; exact."""
    return Decimal(amount) / scale_of(resource)


def single(name: str, meaning: str, value: Decimal | int) -> Family:
    """A family of one number about everything, without labels."""
    return Family(name=name, meaning=meaning, samples=(((), Decimal(value)),))
