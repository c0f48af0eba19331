"""What queues used, as a report of one moment, and as parts of what there was."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName

BILLION = 10**9
Charge: TypeAlias = Literal["all", "over-quota"]
Sums: TypeAlias = tuple[int, ...]
Use = TypeVar("Use")  # of one queue, in whatever form


class QueueUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one queue used: resource-time, one for each resource; less than 0 is a credit."""

    all: Sums
    above_guarantee: Sums


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What queues and users used over the window that ends at a moment, decayed to that moment."""

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
    for name, uses in _at_or_below(sums, parents).items():
        totals[name] = tuple(map(sum, zip(*uses, strict=True)))
    return totals


def lanes_with_inner_queues(
    sums: Mapping[QueueName, int], parents: Mapping[QueueName, QueueName | None]
) -> dict[QueueName, int]:
    """The same of sums that lie side by side in one number (`lanes`)."""
    totals = dict(sums)
    for name, uses in _at_or_below(sums, parents).items():
        totals[name] = sum(uses)
    return totals


def billionths(sums: Mapping[QueueName, Sums], whole: Sums) -> dict[QueueName, Sums]:
    """Each queue's part of *whole*, to the nearest billionth.

    A credit is 0, and so is any part of nothing.
    """
    return billionths_by_column(sums, list(zip(*sums.values(), strict=True)), whole)


def billionths_by_column(
    queues: Iterable[QueueName], columns: Sequence[Sequence[int]], whole: Sums
) -> dict[QueueName, Sums]:
    """The same where there is a column of sums, one of each queue, for each resource."""
    if not whole or not columns:  # no columns, of which no rows can be made
        return dict.fromkeys(queues, ())
    # A plan waits for thousands of these; by columns they take half the time.
    parts = map(_column, columns, whole)
    return dict(zip(queues, zip(*parts, strict=True), strict=True))


def _at_or_below(
    sums: Mapping[QueueName, Use], parents: Mapping[QueueName, QueueName | None]
) -> dict[QueueName, list[Use]]:
    """Of each queue that has others below it, what it used itself, and what each of those did."""
    found: dict[QueueName, list[Use]] = {}
    for name, used in sums.items():
        above = parents.get(name)
        steps = 0
        while above is not None:
            uses = found.get(above)
            if uses is None:
                uses = found[above] = [sums[above]] if above in sums else []
            uses.append(used)
            above = parents.get(above)
            steps += 1
            if steps > len(parents):
                raise UsageError(f"queue {name} is below itself")
    return found


def _column(column: Sequence[int], whole: int) -> list[int]:
    if whole <= 0:
        return [0] * len(column)
    half = whole >> 1
    return [(used * BILLION + half) // whole if used > 0 else 0 for used in column]


def above_guarantee(amount: int, guarantee: int | None) -> int:
    """The part of *amount* that is not guaranteed; None guarantees all of it."""
    return 0 if guarantee is None or amount <= guarantee else amount - guarantee
