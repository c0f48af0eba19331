"""Reads KAI's ``Queue`` (scheduling.run.ai/v2) into exact amounts.

A negative number means "no limit", but only -1 does so for cpu and gpu.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Final

from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_settings import protection_ms
from fairlead.manifest.kai.notation import KAI_AXES, QUEUE
from fairlead.manifest.kai.objects import KaiQueueObject, QueueDemand
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.values import describe
from fairlead.model.queue import DEFAULT_PRIORITY

_ZERO: Final = Decimal(0)


@reads_named
def read_kai_queue(top: Cursor, metadata: Metadata) -> KaiQueueObject:
    """Read a Queue. A resource that is not listed has 0 of everything."""
    spec = top.mapping("spec", required=True)
    resources = spec.mapping("resources", required=True)
    listed = {axis: resources.mapping(axis) for axis in KAI_AXES}
    return KaiQueueObject(
        source=top.source,
        name=metadata.name,
        display_name=spec.text("displayName", ""),
        parent=spec.text("parentQueue", ""),
        priority=spec.integer("priority", DEFAULT_PRIORITY),
        created_ms=metadata.created_ms,
        guaranteed={
            axis: read_kai_amount(each, "quota", axis, QUEUE.base_units[axis])
            for axis, each in listed.items()
        },
        ceiling={
            axis: read_kai_amount(each, "limit", axis, QUEUE.base_units[axis])
            for axis, each in listed.items()
        },
        weights={axis: each.factor("overQuotaWeight", _ZERO) for axis, each in listed.items()},
        status=_read_status(top.mapping("status")),
        preempt_min_runtime_ms=protection_ms(spec, "preemptMinRuntime", None),
        reclaim_min_runtime_ms=protection_ms(spec, "reclaimMinRuntime", None),
    )


def _read_status(status: Cursor) -> QueueDemand | None:
    """Read what KAI has added up for the queue; None if it did not yet."""
    is_there = status.has("requested") or status.has("allocated")
    status.ignore(*status.keys())  # a status may have fields of later versions
    demand = QueueDemand(
        requested=status.quantities("requested"),
        allocated=status.quantities("allocated"),
        non_preemptible=status.quantities("allocatedNonPreemptible"),
    )
    return demand if is_there else None


def read_kai_amount(
    cursor: Cursor, key: str, axis: str, base_units: int, default: Decimal = _ZERO
) -> int | None:
    """Read a number of units, each of *base_units*; None: unlimited.

    What is finer than a base unit is cut down with a warning: a quota is never taken for more
    than was given.
    """
    value = cursor.decimal(key, default)
    if value < 0:
        if value != -1 and axis != "memory":
            message = f"found {describe(value)}, expected 0 or more, or -1 for no limit"
            cursor.error(key, "out-of-range", message, "write -1 for no limit")
        return None
    whole = int(value)
    if whole == value:
        return whole * base_units
    exact = Fraction(value) * base_units
    amount = exact.numerator // exact.denominator
    if exact.denominator != 1:
        kept = Decimal(amount) / base_units
        message = f"found {describe(value)}, which is finer than Fairlead counts; taken as {kept}"
        cursor.warn(key, "rounded", message, f"write {kept}")
    return amount
