"""What queues used, on the axes of a rule set, from a ledger that counts resources.

A rule set may count several resources on one axis: KAI counts every vendor's devices as ``gpu``.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.quantity import is_gpu
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Charge, Sums, billionths, sums_with_inner_queues

Parents: TypeAlias = Mapping[QueueName, QueueName | None]
Freshness: TypeAlias = Literal["fresh", "stale", "missing"]


class UsageVector(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of past use at one moment, and how far it can be trusted."""

    usage: dict[QueueName, Sums] | None  # billionths on each axis; None: history does not count
    state: Freshness
    age_ms: int | None = None  # of what is known; None: nothing is
    problem: str | None = None


def places_of(axes: Sequence[str], resources: Sequence[str]) -> list[list[int]]:
    """For each axis, the places of the resources that are counted on it."""
    return [
        [
            place
            for place, resource in enumerate(resources)
            if resource == axis or (axis == "gpu" and is_gpu(resource))
        ]
        for axis in axes
    ]


def usage_on_axes(
    ledger: Ledger, now_ms: int, axes: Sequence[str], *, parents: Parents, charge: Charge
) -> dict[QueueName, Sums]:
    """Billionths of the capacity on each axis, inner queues included; 0 where nothing is counted.

    Cost: O(queues times depth). Raises UsageError as the ledger does.
    """
    places = places_of(axes, ledger.resources)
    if all(len(each) <= 1 for each in places):
        parts = ledger.normalised(now_ms, charge=charge, parents=parents)
        return {name: _summed(part, places) for name, part in parts.items()}
    usage = ledger.usage(now_ms)
    sums = {
        name: _summed(use.all if charge == "all" else use.above_guarantee, places)
        for name, use in usage.queues.items()
    }
    return billionths(sums_with_inner_queues(sums, parents), _summed(usage.capacity, places), None)


def _summed(amounts: Sums, places: list[list[int]]) -> Sums:
    return tuple(sum(amounts[place] for place in each) for each in places)
