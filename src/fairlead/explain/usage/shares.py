"""The share tree with history: what queues used over the window, and what that does to shares."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.explain.queues.report import AxisLine, Cell, Column, QueueEntry, ShareReport
from fairlead.explain.text.amounts import k_text
from fairlead.explain.text.measures import hours_text, hours_unit
from fairlead.model.axes import Axis, QueueName
from fairlead.model.duration import format_duration
from fairlead.store.feed.usage_vector import UsageSums, UsageVector
from fairlead.usage.queue_use import Sums
from fairlead.usage.settings import StoreSource, UsageSettings
from fairlead.usage.window import Cron, Sliding, Tumbling, Window

FIRST: Final = (
    Column(key="weight", title="WEIGHT", form="number"),
    Column(key="unit", title="UNIT", form="word", wide=True),
    Column(key="usedHours", title="USED-HOURS", form="word"),
    Column(key="decayedHours", title="DECAYED-HOURS", form="word"),
    Column(key="usage", title="USAGE", form="usage"),
    Column(key="fairShareWithoutHistory", title="WITHOUT-HISTORY", form="amount"),
    Column(key="fairShare", title="FAIR-SHARE", form="amount"),
)


class PastUse(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about past use, and by which settings."""

    settings: UsageSettings
    k: Fraction
    vector: UsageVector
    sums: UsageSums | None  # None: nothing is known


def with_past_use(report: ShareReport, plain: ShareReport, past: PastUse) -> ShareReport:
    """Return *report* with what queues used, and their shares in *plain*, which has no history.

    The other numbers move to the wide table.
    """
    keys = {column.key for column in FIRST}
    unused = _unused(past)
    others = [
        msgspec.structs.replace(column, wide=True)
        for column in report.axis_columns
        if column.key not in keys
    ]
    return msgspec.structs.replace(
        report,
        axis_columns=(*FIRST, *others),
        queues=tuple(
            _entry(*both, past, unused) for both in zip(report.queues, plain.queues, strict=True)
        ),
    )


def _unused(past: PastUse) -> frozenset[int]:
    """Return the places of axes on which no hours are known of any queue."""
    if past.sums is None:
        return frozenset()
    columns = zip(*past.sums.raw.values(), strict=True)
    return frozenset(at for at, column in enumerate(columns) if not any(column))


def _entry(
    entry: QueueEntry, plain: QueueEntry, past: PastUse, unused: frozenset[int]
) -> QueueEntry:
    vector = past.vector
    raw, decayed = (None, None) if past.sums is None else (past.sums.raw, past.sums.decayed)
    lines = []
    for at, (line, without) in enumerate(zip(entry.lines, plain.lines, strict=True)):
        is_unknown = str(line.axis) in vector.unknown
        # 0 would say that nothing was used, which is more than is known.
        has_hours = not (is_unknown and at in unused)
        cells: dict[str, Cell] = {
            **line.cells,
            "unit": hours_unit(line.axis.resource),
            "usedHours": _hours(raw, entry.name, line.axis, at) if has_hours else None,
            "decayedHours": _hours(decayed, entry.name, line.axis, at) if has_hours else None,
            "usage": None if vector.usage is None or is_unknown else line.cells["usage"],
            "fairShareWithoutHistory": without.cells["fairShare"],
        }
        lines.append(AxisLine(axis=line.axis, cells=cells))
    return msgspec.structs.replace(entry, lines=tuple(lines))


def _hours(
    sums: Mapping[QueueName, Sums] | None, queue: QueueName, axis: Axis, at: int
) -> str | None:
    """Return hours as `fairlead usage show` counts them; None: nothing is known."""
    if sums is None:
        return None
    return hours_text(axis.resource, sums[queue][at] if queue in sums else 0)


def past_use_text(past: PastUse) -> str:
    """Say in one line how fresh history is and how it counts."""
    vector, rules = past.vector, past.settings.rules
    age = "" if vector.age_ms is None else f", {format_duration(vector.age_ms // 1000 * 1000)} old"
    fades = "none" if rules.half_life_ms is None else format_duration(rules.half_life_ms)
    effect = "" if vector.usage is not None else "; it does not count"
    return (
        f"past use: {vector.state}{age}{effect}; window: {_window_text(rules.window)}; "
        f"half-life: {fades}; charge: {rules.charge}; k = {k_text(past.k)}"
    )


def _window_text(window: Window) -> str:
    match window:
        case Sliding(length_ms=length_ms):
            return f"sliding {format_duration(length_ms)}"
        case Tumbling(length_ms=length_ms):
            return f"tumbling {format_duration(length_ms)}"
        case Cron(expression=expression, time_zone=time_zone):
            return f"since {expression} ({time_zone})"


def past_use_document(past: PastUse) -> dict[str, object]:
    """Return the same for programs, in the form of `docs/reference/queues-output.md`."""
    vector, rules = past.vector, past.settings.rules
    is_store = isinstance(past.settings.source, StoreSource)
    return {
        "state": vector.state,
        "counts": vector.usage is not None,
        "ageMilliseconds": vector.age_ms,
        "problem": vector.problem,
        "source": "store" if is_store else "prometheus",
        "window": _window_text(rules.window),
        "halfLifeMilliseconds": rules.half_life_ms,
        "charge": rules.charge,
        "onStale": rules.on_stale,
        "k": float(past.k),
    }
