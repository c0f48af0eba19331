"""Reads KAI's ``Queue`` (scheduling.run.ai/v2) into exact amounts.

A negative number means "no limit", but only -1 does so for cpu and gpu.

What KAI's fair-share simulator is sent is read here, too: a total, and queues with what they ask
for. Such a body has neither apiVersion nor kind, and like the simulator we take its keys in any
case. The simulator divides among all queues as siblings, so a tree cannot be written in it.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Final

from fairlead.fairness.division_weights import BILLION
from fairlead.manifest.core.objects import NodeObject
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_settings import protection_ms
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.notation import KAI_AXES, QUEUE, RESOURCE_OF, SIMULATOR
from fairlead.manifest.kai.objects import KaiQueueObject, KaiShardObject, QueueDemand
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, Source
from fairlead.manifest.text.values import Value, describe
from fairlead.model.quantity import most_base_units
from fairlead.model.queue import DEFAULT_PRIORITY
from fairlead.policy.kai.settings import KaiSettings

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
        labels=metadata.labels,
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
    most = most_base_units(axis)
    if value * base_units > most:
        message = f"found {describe(value)}, expected at most {most // base_units}, which is all "
        cursor.error(key, "out-of-range", f"{message}that Kubernetes can count", "lower it")
        return most
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


TOTAL_NODE: Final = "totalResource"

_UNLIMITED: Final = Decimal(-1)
_USUAL_REQUEST: Final = Decimal(100_000)

_KEYS: Final = {
    key.lower(): key
    for key in (
        *("totalResource", "totalUsageCapacity", "kValue", "queues"),
        *("uid", "name", "parentQueue", "childQueues", "creationTimestamp", "priority"),
        *("resourceShare", *KAI_AXES),
        *("deserved", "request", "overQuotaWeight", "maxAllowed", "limit", "usage"),
        *("allocated", "allocatedNotPreemptible", "fairShare"),
        *("absoluteUsage", "vacantAdjustedUsage"),
    )
}


def is_share_simulation(value: Value) -> bool:
    """Return whether a document without apiVersion and kind is such a body."""
    if not isinstance(value, dict) or "apiVersion" in value or "kind" in value:
        return False
    return {"totalresource", "queues"} <= {key.lower() for key in value}


def read_share_simulation(
    document: Document, findings: Findings
) -> list[KaiQueueObject | NodeObject | KaiShardObject]:
    """Read the total as one node and every queue with what it asks for.

    Where past use or its weight is given there is also a shard, because the simulator's usual
    kValue is 0. What is wrong becomes findings.
    """
    canonical = _in_one_spelling(document.value)
    assert isinstance(canonical, dict), "a document is a mapping"
    top = Cursor(document.source, findings, canonical)
    top.ignore("totalUsageCapacity")
    total = top.mapping("totalResource", required=True)
    allocatable = {RESOURCE_OF[axis]: _total(total, axis) for axis in KAI_AXES}
    queues = [_read_queue(each) for each in top.items("queues")]
    objects: list[KaiQueueObject | NodeObject | KaiShardObject] = [
        NodeObject(source=top.source, name=TOTAL_NODE, allocatable=allocatable, labels={}),
        *(queue for queue in queues if queue.name),
    ]
    if top.has("kValue") or any(queue.usage_e9 for queue in queues):
        k = max(Fraction(0), Fraction(top.factor("kValue", Decimal(0), minimum=None)))
        settings = KaiSettings(k=k)
        objects.append(KaiShardObject(source=top.source, name=TOTAL_NODE, settings=settings))
    top.ignore("kValue")
    top.finish()
    return objects


def _read_queue(cursor: Cursor) -> KaiQueueObject:
    cursor.ignore("childQueues")
    if cursor.text("parentQueue", ""):
        message = "found a parentQueue, but the simulator divides among all queues as siblings"
        cursor.warn("parentQueue", "no-effect", message, "write Queue objects for a tree")
    name = cursor.text("name", "")
    uid = cursor.text("uid", name) if name else cursor.text("uid")
    shares = cursor.mapping("resourceShare")
    listed = {axis: shares.mapping(axis) for axis in KAI_AXES}
    for each in listed.values():
        each.ignore("allocated", "allocatedNotPreemptible", "fairShare")
        each.ignore("absoluteUsage", "vacantAdjustedUsage")
    whole = cursor.source
    usage_e9 = {axis: _usage_e9(each) for axis, each in listed.items()}
    return KaiQueueObject(
        source=Source(piece=whole.piece, path=(*whole.path, *cursor.path())),
        name=uid or name,
        display_name=name,
        priority=cursor.integer("priority", 0),
        created_ms=cursor.timestamp("creationTimestamp", 0),
        guaranteed={
            # The simulator guarantees everything of a cpu or memory that is not listed at all.
            axis: _amount(each, "deserved", axis, _usual_guarantee(shares, axis))
            for axis, each in listed.items()
        },
        ceiling={axis: _ceiling(each, axis) for axis, each in listed.items()},
        weights={axis: each.factor("overQuotaWeight", Decimal(1)) for axis, each in listed.items()},
        simulated=QueueDemand(
            requested={
                RESOURCE_OF[axis]: _amount(each, "request", axis, _USUAL_REQUEST) or 0
                for axis, each in listed.items()
            }
        ),
        usage_e9=usage_e9 if any(usage_e9.values()) else None,
    )


def _total(cursor: Cursor, axis: str) -> int:
    amount = _amount(cursor, axis, axis, Decimal(0))
    if amount is None:
        cursor.error(axis, "out-of-range", "found no limit, expected what there is", "write it")
    return amount or 0


def _amount(cursor: Cursor, key: str, axis: str, usual: Decimal) -> int | None:
    return read_kai_amount(cursor, key, axis, SIMULATOR.base_units[axis], usual)


def _usual_guarantee(shares: Cursor, axis: str) -> Decimal:
    return Decimal(0) if axis == "gpu" or shares.has(axis) else _UNLIMITED


def _ceiling(cursor: Cursor, axis: str) -> int | None:
    """Read ``maxAllowed``, or ``limit`` as a Queue calls it."""
    cursor.ignore("limit", "maxAllowed")
    key = "limit" if cursor.has("limit") else "maxAllowed"
    return _amount(cursor, key, axis, _UNLIMITED)


def _usage_e9(cursor: Cursor) -> int:
    """Read past use, as a part of the cluster, in billionths."""
    exact = Fraction(cursor.decimal("usage", Decimal(0), minimum=0)) * BILLION
    return exact.numerator // exact.denominator


def _in_one_spelling(value: Value) -> Value:
    """Return the value with known keys spelt as documented; the last of two spellings counts."""
    if isinstance(value, dict):
        return {_KEYS.get(key.lower(), key): _in_one_spelling(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_in_one_spelling(each) for each in value]
    return value
