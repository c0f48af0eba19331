"""The share tree as data: queues, their numbers per axis, and what each column means.

The three rule sets have different numbers to show. Each brings its columns and fills the cells;
tables, JSON, YAML and comparisons are then made in one way from the columns.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from fairlead.explain.amount_text import amount_text, number_text
from fairlead.model.axes import Axis, QueueName
from fairlead.model.quantity import format_amount

Form: TypeAlias = Literal["amount", "ratio", "usage", "number", "word"]
Cell: TypeAlias = int | str | bool | Decimal | Fraction | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One number that is shown of every queue, or of every queue and axis."""

    key: str  # in JSON and YAML
    title: str  # in tables
    form: Form
    wide: bool = False  # only in the wide table


class AxisLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue on one axis, by column key."""

    axis: Axis
    cells: dict[str, Cell]


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One queue with its numbers."""

    name: QueueName
    parent: QueueName | None
    depth: int
    kind: str
    cells: dict[str, Cell]
    lines: tuple[AxisLine, ...]


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
        case "amount", int() | None:
            return amount_text(axis or Axis(""), value)
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


def report_document(report: ShareReport) -> dict[str, object]:
    """Return the report in the form of `docs/reference/queues-output.md`."""
    return {
        "apiVersion": "fairlead/v1",
        "kind": "QueueShares",
        "policy": report.policy,
        "capacity": {
            str(axis): format_amount(axis.resource, amount)
            for axis, amount in report.capacity.items()
        },
        "queues": [_queue_document(report, entry) for entry in report.queues],
    }


def _queue_document(report: ShareReport, entry: QueueEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "parent": entry.parent,
        "depth": entry.depth,
        "kind": entry.kind,
        **{c.key: cell_value(c, None, entry.cells.get(c.key)) for c in report.queue_columns},
        "resources": {
            str(line.axis): {
                c.key: cell_value(c, line.axis, line.cells.get(c.key)) for c in report.axis_columns
            }
            for line in entry.lines
        },
    }
