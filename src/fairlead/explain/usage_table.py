"""Who used what over a window: rows for people, and documents for programs."""

from collections.abc import Iterator, Mapping

import msgspec

from fairlead.explain.axis_order import by_interest
from fairlead.explain.moment_text import moment_text
from fairlead.explain.resource_hours import hours_text, hours_unit
from fairlead.model.axes import Axis, QueueName
from fairlead.model.duration import format_duration
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import BILLION, Sums, Usage, sums_with_inner_queues
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import begins_at

Parents = Mapping[QueueName, QueueName | None]
NOBODY = "(nobody in particular)"


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
    """Who used what over the window that ends at a moment."""

    now_ms: int
    since_ms: int
    half_life_ms: int | None
    rows: list[UsageRow]
    unknown: tuple[str, ...]  # resources of which there was no capacity


class _Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one holder: without fading, and as they count."""

    used: Sums
    decayed: Sums
    above: Sums | None


def usage_report(
    plain: Ledger,
    fading: Ledger,
    rules: UsageRules,
    now_ms: int,
    parents: Parents,
    *,
    by_user: bool,
) -> UsageReport:
    """Report what every queue used, inner ones of *parents* included.

    *plain* counts without a half-life and *fading* with it; they may be one ledger.
    """
    usage, decayed = plain.usage(now_ms), fading.usage(now_ms)
    queues = _by_queue(usage, decayed, parents)
    users = _by_user(usage, decayed) if by_user else {}
    rows = [
        _row(plain.resources, place, decayed.capacity, queue, depth, user, counted, rules)
        for place in _places(plain.resources)
        for queue, depth in _in_tree(queues, parents)
        for user, counted in [("", queues[queue]), *users.get(queue, [])]
    ]
    return UsageReport(
        now_ms=now_ms,
        since_ms=begins_at(rules.window, now_ms),
        half_life_ms=rules.half_life_ms,
        rows=rows,
        unknown=decayed.unknown,
    )


def only_queue(report: UsageReport, queue: str) -> UsageReport:
    """Return the rows of one queue."""
    rows = [msgspec.structs.replace(row, depth=0) for row in report.rows if row.queue == queue]
    return msgspec.structs.replace(report, rows=rows)


def usage_document(report: UsageReport) -> dict[str, object]:
    """Return the report as plain data, with the hours as exact as they are shown."""
    return {
        "kind": "Usage",
        "now": moment_text(report.now_ms),
        "since": moment_text(report.since_ms),
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


def _by_queue(usage: Usage, decayed: Usage, parents: Parents) -> dict[QueueName, _Counted]:
    used = {name: use.all for name, use in usage.queues.items()}
    as_counted = {name: use.all for name, use in decayed.queues.items()}
    above = {name: use.above_guarantee for name, use in decayed.queues.items()}
    totals = [sums_with_inner_queues(sums, parents) for sums in (used, as_counted, above)]
    return {
        name: _Counted(used=totals[0][name], decayed=totals[1][name], above=totals[2][name])
        for name in totals[0]
    }


def _by_user(usage: Usage, decayed: Usage) -> dict[QueueName, list[tuple[str, _Counted]]]:
    found: dict[QueueName, list[tuple[str, _Counted]]] = {}
    for (queue, user), used in sorted(usage.users.items()):
        counted = _Counted(used=used, decayed=decayed.users[queue, user], above=None)
        found.setdefault(queue, []).append((user, counted))
    for queue, users in found.items():
        rest = _Counted(
            used=_rest(usage.queues[queue].all, [each.used for _, each in users]),
            decayed=_rest(decayed.queues[queue].all, [each.decayed for _, each in users]),
            above=None,
        )
        if any(rest.used):
            users.append((NOBODY, rest))
    return found


def _rest(total: Sums, parts: list[Sums]) -> Sums:
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
    resources: tuple[str, ...],
    place: int,
    capacity: Sums,
    queue: QueueName,
    depth: int,
    user: str,
    counted: _Counted,
    rules: UsageRules,
) -> UsageRow:
    resource = resources[place]
    above = None if counted.above is None else counted.above[place]
    charged = above if rules.charge == "over-quota" else counted.decayed[place]
    return UsageRow(
        queue=queue,
        depth=depth,
        user=user,
        resource=resource,
        unit=hours_unit(resource),
        used=hours_text(resource, counted.used[place]),
        decayed="" if rules.half_life_ms is None else hours_text(resource, counted.decayed[place]),
        above_guarantee="" if above is None else hours_text(resource, above),
        of_capacity=_part_text(charged, capacity[place]),
    )


def _part_text(used: int | None, capacity: int) -> str:
    """Return a part of the capacity to nine decimals, as rules see it; "" if either is unknown."""
    if used is None or capacity <= 0:
        return ""
    billionths = (max(used, 0) * BILLION + capacity // 2) // capacity
    whole, part = divmod(billionths, BILLION)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")
