"""What a change of the objects does to every queue's numbers."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.explain.queues.report import (
    Cell,
    Column,
    QueueEntry,
    ShareReport,
    capacity_document,
    cell_value,
)
from fairlead.model.axes import Axis, QueueName

Fate: TypeAlias = Literal["added", "removed", "changed"]
Columns: TypeAlias = tuple[tuple[Column, ...], tuple[Column, ...]]  # of a queue, of an axis


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One number that differs; axis None for a number of the queue as a whole."""

    queue: QueueName
    fate: Fate
    axis: Axis | None
    column: Column
    old: Cell
    new: Cell


def share_changes(old: ShareReport, new: ShareReport) -> list[Change]:
    """Return every number that differs, in the order of the new tree, then of the old one.

    Both reports are of one rule set. A queue that is only in one of them differs in every
    number; the missing side of it is None.
    """
    before = {entry.name: entry for entry in old.queues}
    after = {entry.name: entry for entry in new.queues}
    names = dict.fromkeys([*after, *before])
    # A column may be there on one side only: usage, where the other has none.
    own = tuple(dict.fromkeys([*new.queue_columns, *old.queue_columns]))
    axis = tuple(dict.fromkeys([*new.axis_columns, *old.axis_columns]))
    return [
        change
        for name in names
        for change in _queue_changes(name, (own, axis), before.get(name), after.get(name))
    ]


def _queue_changes(
    name: QueueName, columns: Columns, old: QueueEntry | None, new: QueueEntry | None
) -> list[Change]:
    fate: Fate = "added" if old is None else "removed" if new is None else "changed"
    changes = []
    for axis, shown, was, now in _pairs(columns, old, new):
        for column in shown:
            before, after = was.get(column.key), now.get(column.key)
            if before != after or fate != "changed":
                changes.append(
                    Change(queue=name, fate=fate, axis=axis, column=column, old=before, new=after)
                )
    return changes


def _pairs(
    columns: Columns, old: QueueEntry | None, new: QueueEntry | None
) -> list[tuple[Axis | None, tuple[Column, ...], dict[str, Cell], dict[str, Cell]]]:
    was = {line.axis: line.cells for line in old.lines} if old else {}
    now = {line.axis: line.cells for line in new.lines} if new else {}
    own_columns, axis_columns = columns
    return [
        (None, own_columns, old.cells if old else {}, new.cells if new else {}),
        *(
            (axis, axis_columns, was.get(axis, {}), now.get(axis, {}))
            for axis in dict.fromkeys([*now, *was])
        ),
    ]


def changes_document(
    old: ShareReport, new: ShareReport, changes: list[Change]
) -> dict[str, object]:
    """Return what `docs/reference/queues-output.md` has of the changes in one shard."""

    def value(change: Change, cell: Cell) -> object:
        return cell_value(change.column, change.axis, cell)

    return {
        "capacity": {"old": capacity_document(old), "new": capacity_document(new)},
        "changes": [
            {
                "queue": change.queue,
                "fate": change.fate,
                "resource": str(change.axis) if change.axis else None,
                "number": change.column.key,
                "old": None if change.fate == "added" else value(change, change.old),
                "new": None if change.fate == "removed" else value(change, change.new),
            }
            for change in changes
        ],
    }
