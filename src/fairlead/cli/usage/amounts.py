"""Amounts as an administrator types them: ``gpu=100h``, ``memory=16Gi*10h``; ``gpu=64,cpu=2048``.

A mistake stays in a store for good, so names and amounts must be plausible.
"""

import re
from collections.abc import Sequence
from typing import Final

import click

from fairlead.errors import DurationError, QuantityError
from fairlead.explain.text.measures import hours_unit, resource_hours
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.duration import parse_duration
from fairlead.model.quantity import base_units, is_memory_like, parse_quantity, scale_of

RESOURCE_OF: Final = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
"""The resource that a short name means in a store that has none of that name."""
EXPECTED: Final = "expected such as gpu=100h, cpu=-30m or memory=16Gi*10h"
EXPECTED_CAPACITY: Final = "expected such as gpu=64,cpu=2048,memory=16Ti"
LEAST_MEMORY_BYTES: Final = 2**20
"""No cluster has less, so a number below it lacks its unit."""
MOST_BASE_UNITS: Final = 2**63 - 1
"""What Kubernetes can count of a resource: more can neither be held nor be there."""

_EXTENDED: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+/[A-Za-z0-9][A-Za-z0-9._-]*")


def resource_name(short: str, known: Sequence[str]) -> str:
    """Return the resource that *short* means: one that is known, or what gpu stands for."""
    return short if short in known else RESOURCE_OF.get(short, short)


def read_amount(resource: str, text: str) -> tuple[int, bool]:
    """Return *text* in base units, and whether that is exact; raises QuantityError."""
    amount, is_exact = base_units(resource, parse_quantity(text))
    if abs(amount) > MOST_BASE_UNITS:
        most = MOST_BASE_UNITS // scale_of(resource)
        raise QuantityError(f"expected at most {most:.1e}, which is all that Kubernetes can count")
    return amount, is_exact


def read_resource_time(items: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Return base units times milliseconds of each resource; anything else is wrong usage.

    A resource is one of *known*, or cpu, memory or gpu, or has a domain, such as example.com/tpu.
    """
    found: dict[str, int] = {}
    for item in items:
        short, equals, text = item.partition("=")
        if not short or not equals:
            raise click.BadParameter(f"found {item!r}, {EXPECTED}")
        name = resource_name(short, known)
        if name in found:
            raise click.BadParameter(f"found {short} twice")
        _check_name(short, item, known)
        found[name] = _resource_time(name, item, text)
    return found


def read_capacity(text: str, resources: Sequence[str]) -> tuple[int, ...]:
    """Return base units of each of *resources*, 0 of those not named; else it is wrong usage."""
    found: dict[str, int] = {}
    for item in text.split(","):
        short, _, number = item.strip().partition("=")
        name = resource_name(short, resources)
        if name in found:
            raise click.BadParameter(f"found {short} twice", param_hint="--capacity")
        try:
            found[name] = _whole_capacity(name, number, resources)
        except QuantityError as wrong:
            raise click.BadParameter(f"found {item!r}: {wrong}", param_hint="--capacity") from wrong
    return tuple(found.get(name, 0) for name in resources)


def _whole_capacity(name: str, number: str, resources: Sequence[str]) -> int:
    amount, is_exact = read_amount(name, number)
    if name not in resources or amount < 0 or not is_exact:
        raise QuantityError(EXPECTED_CAPACITY)
    if not amount:
        raise QuantityError("expected more than 0; leave out what the cluster does not have")
    if is_memory_like(name) and amount < LEAST_MEMORY_BYTES:
        raise QuantityError(f"this is {amount} bytes; expected a unit, such as {name}=16Ti")
    return amount


def _check_name(short: str, item: str, known: Sequence[str]) -> None:
    plain = {*known, *RESOURCE_OF}
    if short in plain or _EXTENDED.fullmatch(short):
        return
    expected = f"expected {', '.join(sorted(plain))}, or a name such as example.com/tpu"
    hint = did_you_mean(short, plain) or expected
    raise click.BadParameter(f"found {item!r}: the store has no such resource; {hint}")


def _resource_time(name: str, item: str, text: str) -> int:
    amount_text, times, length_text = text.rpartition("*")
    if not times and is_memory_like(name):
        raise click.BadParameter(f"found {item!r} without an amount, {EXPECTED}")
    try:
        amount, is_exact = read_amount(name, amount_text if times else "1")
        length_ms, is_whole = parse_duration(length_text)
    except (QuantityError, DurationError) as wrong:
        raise click.BadParameter(f"found {item!r}: {wrong}") from wrong
    if not (is_exact and is_whole):
        raise click.BadParameter(f"found {item!r}, which is finer than can be counted")
    if not amount * length_ms:
        raise click.BadParameter(f"found {item!r}, which changes nothing")
    if abs(resource_hours(name, amount * length_ms)) * 1000 < 1:
        unit = hours_unit(name)
        raise click.BadParameter(f"found {item!r}, expected 0.001 {unit} or more")
    return amount * length_ms
