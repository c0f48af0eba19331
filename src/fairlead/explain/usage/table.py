"""Who used what over a window: rows for people, and documents for programs."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.measures import hours_text, hours_unit
from fairlead.model.axes import Axis, QueueName
from fairlead.model.duration import format_duration, moment_text
from fairlead.store.feed.reading import Standing
from fairlead.store.feed.usage_vector import Parents
from fairlead.usage.queue_use import (
    BILLION,
    Charge,
    Sums,
    Usage,
    billionths,
    sums_with_inner_queues,
)
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import begins_at

NO_USER = "(no user)"


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue, or a user in it, used of one resource, as text."""

    queue: str
    depth: int  # how many of its parents are above it in the same list
    user: str  # "" for the queue as a whole
    resource: str
    unit: str
    used: str
    decayed: str  # "" if use does not fade
    above_guarantee: str  # "" for a user: guarantees are queues'
    of_capacity: str  # "" if the capacity, or what counts of a user's use, is not known


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """Who used what over a window."""

    now_ms: int  # when it was asked for
    since_ms: int
    until_ms: int  # where the window ends: now, or when the record was last written
    half_life_ms: int | None
    rows: list[UsageRow]
    unknown: tuple[str, ...]  # resources of which there was no capacity


class _Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one holder: without fading, and as they count."""

    used: Sums
    decayed: Sums
    above: Sums | None
    parts: Sums | None  # billionths of the capacity; None: what counts is not known


class _Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, or a user in it, and where it stands in the list."""

    queue: QueueName
    depth: int
    user: str
    counted: _Counted


def usage_report(
    standing: Standing, rules: UsageRules, now_ms: int, parents: Parents, *, by_user: bool
) -> UsageReport:
    """Report what every queue used, inner ones of *parents* included.

    The window ends where *standing* says at *now_ms*, which must have a ledger without fading.
    """
    assert standing.plain is not None, "the ledger without fading is needed"
    resources = standing.ledger.resources
    until_ms = standing.as_of_ms(now_ms)
    usage, decayed = standing.plain.usage(until_ms), standing.ledger.usage(until_ms)
    queues = _by_queue(usage, decayed, parents, rules.charge)
    users = _by_user(usage, decayed, rules.charge) if by_user else {}
    holders = [
        _Holder(queue=queue, depth=depth, user=user, counted=counted)
        for queue, depth in _in_tree(queues, parents)
        for user, counted in [("", queues[queue]), *users.get(queue, [])]
    ]
    fades = rules.half_life_ms is not None
    return UsageReport(
        now_ms=now_ms,
        since_ms=begins_at(rules.window, until_ms),
        until_ms=until_ms,
        half_life_ms=rules.half_life_ms,
        rows=[
            _row(resources[place], place, holder, decayed.unknown, fades=fades)
            for place in _places(resources)
            for holder in holders
        ],
        unknown=decayed.unknown,
    )


def only_queue(report: UsageReport, queue: str) -> UsageReport:
    """Return the rows of one queue."""
    rows = [msgspec.structs.replace(row, depth=0) for row in report.rows if row.queue == queue]
    return msgspec.structs.replace(report, rows=rows)


def usage_document(report: UsageReport) -> dict[str, object]:
    """Return the report as plain data, with the hours as exact as they are shown."""
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Usage",
        "now": moment_text(report.now_ms),
        "since": moment_text(report.since_ms),
        "until": moment_text(report.until_ms),
        "halfLife": None if report.half_life_ms is None else format_duration(report.half_life_ms),
        "unknownCapacity": list(report.unknown),
        "usage": [
            {
                "queue": row.queue,
                "user": row.user or None,
                "resource": row.resource,
                "unit": row.unit,
                "used": row.used,
                "decayed": row.decayed or None,
                "aboveGuarantee": row.above_guarantee or None,
                "ofCapacity": row.of_capacity or None,
            }
            for row in report.rows
        ],
    }


def _by_queue(
    usage: Usage, decayed: Usage, parents: Parents, charge: Charge
) -> dict[QueueName, _Counted]:
    used = {name: use.all for name, use in usage.queues.items()}
    as_counted = {name: use.all for name, use in decayed.queues.items()}
    above = {name: use.above_guarantee for name, use in decayed.queues.items()}
    used, as_counted, above = (
        sums_with_inner_queues(sums, parents) for sums in (used, as_counted, above)
    )
    parts = billionths(as_counted if charge == "all" else above, decayed.capacity)
    return {
        name: _Counted(
            used=used[name], decayed=as_counted[name], above=above[name], parts=parts[name]
        )
        for name in used
    }


def _by_user(
    usage: Usage, decayed: Usage, charge: Charge
) -> dict[QueueName, list[tuple[str, _Counted]]]:
    found: dict[QueueName, dict[str, tuple[Sums, Sums]]] = {}
    for (queue, user), used in sorted(usage.users.items()):
        found.setdefault(queue, {})[user] = used, decayed.users[queue, user]
    for queue, users in found.items():
        used_by, decayed_by = zip(*users.values(), strict=True)
        rest = _rest(usage.queues[queue].all, used_by)
        if any(rest):
            users[NO_USER] = rest, _rest(decayed.queues[queue].all, decayed_by)
    return {
        queue: [
            (user, _counted_user(*sums, decayed.capacity, charge)) for user, sums in users.items()
        ]
        for queue, users in found.items()
    }


def _counted_user(used: Sums, decayed: Sums, capacity: Sums, charge: Charge) -> _Counted:
    """Guarantees belong to queues, so it is unknown which usage of a user was above one."""
    parts = None
    if charge == "all":
        [parts] = billionths({QueueName(""): decayed}, capacity).values()
    return _Counted(used=used, decayed=decayed, above=None, parts=parts)


def _rest(total: Sums, parts: Sequence[Sums]) -> Sums:
    # Each sum is rounded by itself, so a rest of a few base units x ms is none.
    rest = [whole - sum(each) for whole, each in zip(total, zip(*parts, strict=True), strict=True)]
    return tuple(0 if abs(each) <= len(parts) + 1 else each for each in rest)


def _in_tree(
    queues: Mapping[QueueName, _Counted], parents: Parents
) -> Iterator[tuple[QueueName, int]]:
    """Yield queues in the order of names, each before those below it, with their depths."""
    below: dict[QueueName | None, list[QueueName]] = {}
    for name in sorted(queues, reverse=True):
        above = parents.get(name)
        below.setdefault(above if above in queues else None, []).append(name)
    left = [(name, 0) for name in below.get(None, [])]
    while left:
        name, depth = left.pop()
        yield name, depth
        left += [(each, depth + 1) for each in below.get(name, [])]


def _places(resources: tuple[str, ...]) -> list[int]:
    ordered = by_interest(Axis(name) for name in resources)
    return [resources.index(axis.resource) for axis in ordered]


def _row(
    resource: str, place: int, holder: _Holder, unknown: tuple[str, ...], *, fades: bool
) -> UsageRow:
    counted = holder.counted
    part = "" if counted.parts is None or resource in unknown else _part_text(counted.parts[place])
    return UsageRow(
        queue=holder.queue,
        depth=holder.depth,
        user=holder.user,
        resource=resource,
        unit=hours_unit(resource),
        used=hours_text(resource, counted.used[place]),
        decayed=hours_text(resource, counted.decayed[place]) if fades else "",
        above_guarantee="" if counted.above is None else hours_text(resource, counted.above[place]),
        of_capacity=part,
    )


def _part_text(part: int) -> str:
    """Return billionths as a number of at most nine decimals."""
    whole, rest = divmod(part, BILLION)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
