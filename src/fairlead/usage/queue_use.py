"""What queues used, as a report of one moment, and as parts of what there was."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName

BILLION = 10**9
Charge: TypeAlias = Literal["all", "over-quota"]
Sums: TypeAlias = tuple[int, ...]


class QueueUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one queue used: resource-time, one for each resource; less than 0 is a credit."""

    all: Sums
    above_guarantee: Sums


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Who used what over the window that ends at a moment, decayed to that moment."""

    now_ms: int
    queues: dict[QueueName, QueueUse]  # those that were charged themselves
    users: dict[tuple[QueueName, str], Sums]
    capacity: Sums  # of the same window, decayed alike
    unknown: tuple[str, ...]  # resources of which there was no capacity


def sums_with_inner_queues(
    sums: Mapping[QueueName, Sums], parents: Mapping[QueueName, QueueName | None]
) -> dict[QueueName, Sums]:
    """Add to each queue of *parents* what all queues below it used. Cost: O(queues times depth).

    Raises UsageError where parents run in a circle.
    """
    totals = dict(sums)
    for name, used in sums.items():
        above = parents.get(name)
        steps = 0
        while above is not None:
            so_far = totals.get(above)
            totals[above] = used if so_far is None else tuple(map(int.__add__, so_far, used))
            above = parents.get(above)
            steps += 1
            if steps > len(parents):
                raise UsageError(f"queue {name} is below itself")
    return totals


def billionths(
    sums: Mapping[QueueName, Sums],
    capacity: Sums,
    parents: Mapping[QueueName, QueueName | None] | None,
) -> dict[QueueName, Sums]:
    """Each queue's part of the capacity, or with *parents* of what its parent used."""
    columns = _columns(capacity)
    if parents is None:
        return {name: _parts(used, columns) for name, used in sums.items()}
    return {
        name: _parts(
            used, columns if (above := parents.get(name)) is None else _columns(sums[above])
        )
        for name, used in sums.items()
    }


def _columns(whole: Sums) -> list[tuple[int, int, int]]:
    """Each place with the whole there, and half of it to round by."""
    return [(place, total, total >> 1) for place, total in enumerate(whole)]


def _parts(used: Sums, columns: list[tuple[int, int, int]]) -> Sums:
    """To the nearest billionth; a credit is 0, and so is any part of nothing."""
    return tuple(
        [
            (used[place] * BILLION + half) // whole if used[place] > 0 and whole > 0 else 0
            for place, whole, half in columns
        ]
    )
