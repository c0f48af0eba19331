"""What resources are called in a scenario: ``gpu`` is short for the most frequent kind."""

from collections.abc import Iterable, Mapping
from typing import Final

GPU: Final = "nvidia.com/gpu"


def full_names(amounts: Mapping[str, int] | None) -> dict[str, int]:
    """Return *amounts* by the names that nodes have; None is none."""
    return {full_name(resource): amount for resource, amount in (amounts or {}).items()}


def full_name(resource: str) -> str:
    """Return the name that nodes have for *resource*."""
    return GPU if resource == "gpu" else resource


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
