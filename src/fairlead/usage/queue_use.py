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
    below: dict[QueueName, list[Sums]] = {}
    for name, used in sums.items():
        above = parents.get(name)
        steps = 0
        while above is not None:
            below.setdefault(above, []).append(used)
            above = parents.get(above)
            steps += 1
            if steps > len(parents):
                raise UsageError(f"queue {name} is below itself")
    totals = dict(sums)
    for above, uses in below.items():
        own = [sums[above]] if above in sums else []
        totals[above] = tuple(map(sum, zip(*own, *uses, strict=True)))
    return totals


def billionths(sums: Mapping[QueueName, Sums], whole: Sums) -> dict[QueueName, Sums]:
    """Each queue's part of *whole*, to the nearest billionth.

    A credit is 0, and so is any part of nothing.
    """
    if not whole:  # no columns, of which no rows can be made
        return dict.fromkeys(sums, ())
    # A plan waits for thousands of these; by columns they take half the time.
    columns = map(_column, zip(*sums.values(), strict=True), whole)
    return dict(zip(sums, zip(*columns, strict=True), strict=True))


def billionths_by_level(
    sums: Mapping[QueueName, Sums],
    capacity: Sums,
    parents: Mapping[QueueName, QueueName | None],
    wholes: Mapping[QueueName, Sums],
) -> dict[QueueName, Sums]:
    """Each queue's part of the whole of its parent, or of the capacity where it has none.

    Raises UsageError for a parent whose whole was not told on every resource.
    """
    levels: dict[QueueName | None, dict[QueueName, Sums]] = {}
    for name, used in sums.items():
        levels.setdefault(parents.get(name), {})[name] = used
    parts: dict[QueueName, Sums] = {}
    for above, below in levels.items():
        whole = capacity if above is None else wholes.get(above)
        if whole is None or len(whole) != len(capacity):
            raise UsageError(
                f"what queue {above} had over the window was not told on {len(capacity)} "
                "resources, but there are queues below it"
            )
        parts |= billionths(below, whole)
    return parts


def _column(column: Sums, whole: int) -> list[int]:
    if whole <= 0:
        return [0] * len(column)
    half = whole >> 1
    return [(used * BILLION + half) // whole if used > 0 else 0 for used in column]
