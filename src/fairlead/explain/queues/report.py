"""The share tree as data: queues, their numbers per axis, and what each column means.

The three rule sets have different numbers to show. Each brings its columns and fills the cells;
tables, JSON, YAML and comparisons are then made in one way from the columns.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from fairlead.explain.text.amounts import amount_text, number_text
from fairlead.fairness.dominant_share import LARGEST_STATUS
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.quantity import format_amount

Form: TypeAlias = Literal["amount", "amounts", "ratio", "usage", "share", "number", "word"]
Cell: TypeAlias = int | str | bool | Decimal | Fraction | dict[str, int] | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One number that is shown of every queue, or of every queue and axis."""

    key: str  # in JSON and YAML
    same_as: str | None = None  # the word of the other rule sets for it, in JSON and YAML too
    title: str  # in tables
    form: Form
    wide: bool = False  # only in the wide table
    unlimited: str = "-"  # how a table says None


class AxisLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue on one axis, by column key."""

    axis: Axis
    cells: dict[str, Cell]


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One queue with its numbers.

    ``published`` is the use that the peer writes into the status of its object, by resource; only
    programs get it.
    """

    name: QueueName
    parent: QueueName | None
    depth: int
    kind: str
    cells: dict[str, Cell]
    lines: tuple[AxisLine, ...]
    published: dict[str, int] | None = None  # None: the peer's status has no such use


class ShareReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every queue, parents before children, siblings by name."""

    policy: str
    capacity: dict[Axis, int]
    queue_columns: tuple[Column, ...]
    axis_columns: tuple[Column, ...]
    queues: tuple[QueueEntry, ...]


def cell_text(column: Column, axis: Axis | None, value: Cell) -> str:
    """Return a cell as people read it."""
    match column.form, value:
        case "amount", None:
            return column.unlimited
        case "amount", int():
            return amount_text(axis or Axis(""), value)
        case "amounts", dict():
            return ", ".join(f"{name} {amount_text(Axis(name), n)}" for name, n in value.items())
        case "share", int():
            return "inf" if value == LARGEST_STATUS else str(value)
        case "ratio", Fraction() | None:
            return number_text(value)
        case "usage", int():
            return number_text(Fraction(value, 10**9))
        case _, True:
            return "yes"
        case _, False | None:
            return "-"
        case _:
            return str(value)


def cell_value(column: Column, axis: Axis | None, value: Cell) -> object:
    """Return a cell as programs read it: exact quantities as text, null for no limit."""
    match column.form, value:
        case "amount", int():
            return format_amount(axis.resource if axis else "", value)
        case "amounts", dict():
            return quantities(value)
        case "ratio", None:
            return "inf"
        case "ratio", Fraction():
            return round(float(value), 9)
        case "usage", int():
            return float(Fraction(value, 10**9))
        case _, Decimal():
            return str(value)
        case _:
            return value


def capacity_text(report: ShareReport) -> str:
    """Return the capacity in a few words: ``gpu 32, cpu 512``."""
    amounts = report.capacity.items()
    return ", ".join(f"{axis} {amount_text(axis, n)}" for axis, n in amounts if n) or "none"


def quantities(amounts: dict[str, int]) -> dict[str, str]:
    """Return amounts by resource as quantities."""
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def capacity_document(report: ShareReport) -> dict[str, str]:
    """Return the capacity as quantities."""
    return {str(axis): format_amount(axis.resource, n) for axis, n in report.capacity.items()}


def report_document(
    rules: dict[str, object], shards: Sequence[dict[str, object]]
) -> dict[str, object]:
    """Return the document of `docs/reference/queues-output.md` of each `shares_document`.

    *rules* are the rule set and its mode.
    """
    head = {"apiVersion": "fairlead/v1", "kind": "QueueShares", "policy": rules["policy"]}
    return {**head, "rules": rules, "shards": shards}


def shares_document(report: ShareReport) -> dict[str, object]:
    """Return the part of the document that is about one shard."""
    return {
        "capacity": capacity_document(report),
        "queues": [queue_document(report, entry) for entry in report.queues],
    }


def queue_document(report: ShareReport, entry: QueueEntry) -> dict[str, object]:
    """Return the part of the report that is about one queue."""
    document: dict[str, object] = {
        "name": entry.name,
        "parent": entry.parent,
        "depth": entry.depth,
        "kind": entry.kind,
        **{c.key: cell_value(c, None, entry.cells.get(c.key)) for c in report.queue_columns},
        "resources": {
            str(line.axis): {
                key: cell_value(c, line.axis, line.cells.get(c.key))
                for c in report.axis_columns
                for key in filter(None, (c.key, c.same_as))
            }
            for line in entry.lines
        },
    }
    if entry.published is not None:
        document["status"] = {"used": quantities(entry.published)}
    return document


class PendingReport(msgspec.Struct, frozen=True, kw_only=True):
    """The waiting workloads as rows for people and as items for programs, in the same order."""

    head: tuple[str, ...]
    words: int  # how many columns hold words; the others hold numbers
    rows: tuple[tuple[str, ...], ...]
    document: dict[str, object]  # without its items
    items: tuple[dict[str, object], ...]
    note: str | None = None  # why the queue is empty, where that needs a word
    workloads: tuple[WorkloadName, ...] = ()  # in the same order
