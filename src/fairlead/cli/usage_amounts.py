"""Resource-time as an administrator types it: ``gpu=100h``, ``cpu=-30m``, ``memory=16Gi*10h``."""

from collections.abc import Sequence

import click

from fairlead.errors import DurationError, QuantityError
from fairlead.manifest.kai.quota_axes import RESOURCE_OF
from fairlead.model.duration import parse_duration
from fairlead.model.quantity import base_units, is_memory_like, parse_quantity

EXPECTED = "expected such as gpu=100h, cpu=-30m or memory=16Gi*10h"


def resource_name(short: str, known: Sequence[str]) -> str:
    """Return the resource that *short* means: one that is known, or what gpu stands for."""
    return short if short in known else RESOURCE_OF.get(short, short)


def read_resource_time(items: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Return base units times milliseconds of each resource; anything else is wrong usage."""
    found: dict[str, int] = {}
    for item in items:
        short, equals, text = item.partition("=")
        if not short or not equals:
            raise click.BadParameter(f"found {item!r}, {EXPECTED}")
        name = resource_name(short, known)
        if name in found:
            raise click.BadParameter(f"found {short} twice")
        found[name] = _resource_time(name, item, text)
    return found


def _resource_time(name: str, item: str, text: str) -> int:
    amount_text, times, length_text = text.rpartition("*")
    if not times and is_memory_like(name):
        raise click.BadParameter(f"found {item!r} without an amount, {EXPECTED}")
    try:
        amount, is_exact = base_units(name, parse_quantity(amount_text if times else "1"))
        length_ms, is_whole = parse_duration(length_text)
    except (QuantityError, DurationError) as wrong:
        raise click.BadParameter(f"found {item!r}: {wrong}") from wrong
    if not (is_exact and is_whole):
        raise click.BadParameter(f"found {item!r}, which is finer than can be counted")
    if not amount * length_ms:
        raise click.BadParameter(f"found {item!r}, which changes nothing")
    return amount * length_ms
