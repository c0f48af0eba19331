"""What one field of a scenario may hold, for its reader and for its JSON Schema alike.

In the file an amount is a quantity and a length of time a duration. Here they are whole numbers
already, and what is written beside the type says how the file has them. A resource has the name
that nodes have for it, whatever the file calls it.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Meta, Struct, inspect

DURATION: Final = "duration"
POSITIVE_DURATION: Final = "positive-duration"
TIME: Final = "time"
FACTOR: Final = "factor"
POSITIVE_FACTOR: Final = "positive-factor"
QUANTITIES: Final = "quantities"
AS_WRITTEN: Final = "as-written"
NOT_IN_FILE: Final = "not-in-file"

MOST_BASE_UNITS: Final = 2**63 - 1
"""Of one amount: columns of tables that other programs read have 64 bits."""

MORE_THAN_ANY: Final = "expected less than any cluster has: at most 2^63 - 1 base units"

_LENGTH: Final = {
    "type": "string",
    "pattern": "^(0|([0-9]+(\\.[0-9]*)?(ms|s|m|h|d|w|y))+)$",
}
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    DURATION: _LENGTH,
    POSITIVE_DURATION: _LENGTH,
    TIME: {"type": "string", "format": "date-time"},
    FACTOR: {"type": "number", "minimum": 0},
    POSITIVE_FACTOR: {"type": "number", "exclusiveMinimum": 0},
    QUANTITIES: {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
    AS_WRITTEN: {"type": "object"},
}
"""How each looks in the file."""

DurationMs: TypeAlias = Annotated[int, Meta(extra={"form": DURATION})]
PositiveMs: TypeAlias = Annotated[int, Meta(extra={"form": POSITIVE_DURATION})]
TimeMs: TypeAlias = Annotated[int, Meta(extra={"form": TIME})]
AS_FACTOR: Final = Meta(extra={"form": FACTOR})
AS_POSITIVE_FACTOR: Final = Meta(extra={"form": POSITIVE_FACTOR})
Factor: TypeAlias = Annotated[Decimal, AS_FACTOR]
PositiveFactor: TypeAlias = Annotated[Decimal, AS_POSITIVE_FACTOR]
Quantities: TypeAlias = Annotated[dict[str, int], Meta(extra={"form": QUANTITIES})]
AsWritten: TypeAlias = Annotated[dict[str, Any], Meta(extra={"form": AS_WRITTEN})]
Whole: TypeAlias = Annotated[int, Meta(ge=0)]
Positive: TypeAlias = Annotated[int, Meta(ge=1)]


def says(description: str, name: str | None = None) -> Meta:
    """Return what an editor shows beside a field, and its *name* where `in_file` has another."""
    return Meta(description=description, extra=None if name is None else {"name": name})


Made = TypeVar("Made", bound=Struct)


def made_as(kind: type[Made], form: Struct, /, **others: Any) -> Made:
    """Return a *kind* with *others* and, in the fields that *form* has too, what it says there."""
    same = {name: getattr(form, name) for name in kind.__struct_fields__ if hasattr(form, name)}
    return kind(**{**same, **others})


INTERNAL: Final = Meta(extra={"form": NOT_IN_FILE})
"""Beside a field that no file has."""


def in_file(field: str) -> str:
    """Return how a field is called in the file: ``half_life_ms`` is ``halfLife``."""
    first, *rest = field.removesuffix("_ms").split("_")
    return first + "".join(word.capitalize() for word in rest)


def fields_in_file(kind: inspect.StructType) -> Iterator[tuple[str, inspect.Field]]:
    """Yield the fields of *kind* that a file may have, each with its name there."""
    for field in kind.fields:
        about = field.type.extra or {} if isinstance(field.type, inspect.Metadata) else {}
        if about.get("form") != NOT_IN_FILE:
            yield about.get("name", in_file(field.name)), field


GPU: Final = "nvidia.com/gpu"


def full_name(resource: str) -> str:
    """Return the name that nodes have for *resource*."""
    return GPU if resource == "gpu" else resource


def short_name(resource: str) -> str:
    """Return what scenarios mostly call *resource*."""
    return "gpu" if resource == GPU else resource


def as_written(known: Iterable[str]) -> set[str]:
    """Return the names by which a scenario may call what is *known*."""
    names = set(known)
    return names | {"gpu"} if GPU in names else names


def added_up(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of *several*, by resource."""
    total: dict[str, int] = {}
    for amounts in several:
        for resource, amount in amounts.items():
            total[resource] = total.get(resource, 0) + amount
    return total
