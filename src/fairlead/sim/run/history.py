"""What was used before a simulation begins, taken from a record of a real cluster.

A record has more resources than a rule set counts, users, and times after the start. A
simulation begins with queues that hold nothing, so whatever the record says is held comes to an
end when it begins, or before, when the record itself ends.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, assert_never

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.quantity import is_gpu
from fairlead.sim.results.about import HistoryMark
from fairlead.sim.scenario.rule_sets import USAGE_AXES
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)

_NOTHING: Final[Amounts] = (0,) * len(USAGE_AXES)


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Entries in the order of time, with one amount for each of the resources."""

    name: str  # for messages
    resources: tuple[str, ...]
    entries: Sequence[Entry]
    looked_at_ms: int | None  # the last time; until then, or until the last entry, all is known


def history_before(record: UsageRecord, at_ms: int, start_ms: int) -> tuple[Entry, ...]:
    """Return what *record* says before *at_ms*, as of a simulation that starts at *start_ms*.

    The moment *at_ms* of the record becomes *start_ms*. Amounts are on the axes that past
    use is counted in. Raises `SimulationError` if nothing is before *at_ms*.
    """
    kept = [entry for entry in record.entries if entry.at_ms < at_ms]
    if not kept:
        raise SimulationError(f"{record.name} has no entry before the simulation starts")
    last_ms = max(entry.at_ms for entry in record.entries)
    end_ms = min(at_ms, max(last_ms, record.looked_at_ms or last_ms))
    on_axes = list(_on_axes(kept, record.resources))
    let_go = [
        Held(at_ms=end_ms, queue=queue, user=user, amounts=_NOTHING)
        for queue, user in _holders(on_axes)
    ]
    return tuple(_moved(entry, start_ms - at_ms) for entry in (*on_axes, *let_go))


def history_mark(history: Sequence[Entry]) -> HistoryMark | None:
    """Return what distinguishes runs that began with *history*; None without any.

    Same mark on every machine. Cost: writing all entries once.
    """
    if not history:
        return None
    text = json.dumps(msgspec.to_builtins(history))
    return HistoryMark(
        begins_ms=min(entry.at_ms for entry in history),
        entries=len(history),
        sha256=sha256(text.encode()).hexdigest(),
    )


def _on_axes(entries: Iterable[Entry], resources: tuple[str, ...]) -> Iterator[Entry]:
    places = [
        [at for at, name in enumerate(resources) if _axis_of(name) == axis] for axis in USAGE_AXES
    ]
    for entry in entries:
        match entry:
            case Held() | Capacity():
                amounts = tuple(sum(entry.amounts[at] for at in each) for each in places)
                yield msgspec.structs.replace(entry, amounts=amounts)
            case Guarantee():
                limits = tuple(_sum(tuple(entry.amounts[at] for at in each)) for each in places)
                yield msgspec.structs.replace(entry, amounts=limits)
            case Granted():
                times = tuple(sum(entry.resource_time[at] for at in each) for each in places)
                yield msgspec.structs.replace(entry, resource_time=times)
            case Forgiven() | Renamed() | Removed() | Gap():
                yield entry
            case _:
                assert_never(entry)


def _axis_of(resource: str) -> str:
    return "gpu" if is_gpu(resource) else resource


def _sum(limits: Limits) -> int | None:
    return None if None in limits else sum(limit or 0 for limit in limits)


def _holders(entries: Iterable[Entry]) -> list[tuple[QueueName, str]]:
    """Return the queues and users that hold something after the last entry, by name."""
    held: dict[tuple[QueueName, str], Amounts] = {}
    for entry in entries:
        match entry:
            case Held():
                held[entry.queue, entry.user] = entry.amounts
            case Removed():
                held = {key: each for key, each in held.items() if key[0] != entry.queue}
            case Renamed():
                names = {entry.queue: entry.name}
                held = {
                    (names.get(queue, queue), user): each for (queue, user), each in held.items()
                }
    return sorted(key for key, amounts in held.items() if any(amounts))


def _moved(entry: Entry, by_ms: int) -> Entry:
    if isinstance(entry, Gap):
        return Gap(at_ms=entry.at_ms + by_ms, since_ms=entry.since_ms + by_ms)
    return msgspec.structs.replace(entry, at_ms=entry.at_ms + by_ms)
