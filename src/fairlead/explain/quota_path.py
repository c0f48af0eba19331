"""What a queue and those above it allow on the axes that decided, and where that ends."""

from collections.abc import Sequence

import msgspec

from fairlead.explain.amount_text import amount_text
from fairlead.explain.axis_order import by_interest
from fairlead.explain.explanation import Section
from fairlead.explain.flavors_tried import FlavorLine
from fairlead.explain.kueue_job_view import KueueJobView
from fairlead.explain.reason_text import held_texts
from fairlead.explain.side_document import held_document
from fairlead.model.axes import Axis, QueueName
from fairlead.model.plan import Held
from fairlead.model.quantity import format_amount
from fairlead.policy.kueue.api import EXCEEDS_MAX_QUOTA


class QuotaLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one node on the way up."""

    queue: QueueName
    quota: int  # its own, and what those below lend
    allocated: int
    borrow_limit: int | None
    available: int
    potential: int


class QuotaPath(msgspec.Struct, frozen=True, kw_only=True):
    """One axis from the queue of a workload upward."""

    axis: Axis
    ends_at: QueueName
    levels: tuple[QuotaLevel, ...]
    held: tuple[Held, ...]  # by whom, the largest borrowers first


def quota_paths(view: KueueJobView, tried: Sequence[FlavorLine]) -> list[QuotaPath]:
    """Return the axes that decided, the scarcest first; none if it sought no quota.

    Those that are compared in the reason; where others give way, those that lack.
    """
    if view.seeks is None:
        return []
    compared = [each.axis for each in view.seeks.reason.comparisons if each.axis is not None]
    lacking = [line.axis for line in tried if line.is_taken and line.asks > line.available]
    return [_path(view, axis) for axis in by_interest([*compared, *lacking])]


def path_section(view: KueueJobView, paths: Sequence[QuotaPath]) -> Section:
    """Return the way up as a table, with who holds what lacks."""
    head = ("RESOURCE", "QUEUE", "", "QUOTA", "ALLOCATED", "BORROW LIMIT", "AVAILABLE", "POTENTIAL")
    rows = [
        (
            str(path.axis),
            level.queue,
            "ends here" if level.queue == path.ends_at else "",
            *(amount_text(path.axis, number) for number in _numbers(level).values()),
        )
        for path in paths
        for level in path.levels
    ]
    remarks = [
        f"{path.axis} is held by {', '.join(held_texts(path.held))}." for path in paths if path.held
    ]
    if view.counts_promises:
        remarks.append(
            "Allocated counts what is kept for others, as if those had left who leave for them."
        )
    return Section(
        title="What its queue and those above allow",
        table=(head, *rows),
        words=3,
        remarks=tuple(remarks),
    )


def path_documents(paths: Sequence[QuotaPath]) -> list[dict[str, object]]:
    """Return the ways up as programs read them."""
    return [
        {
            "resource": str(path.axis),
            "endsAt": path.ends_at,
            "levels": [_level_document(path.axis, level) for level in path.levels],
            "held": [held_document(each) for each in path.held],
        }
        for path in paths
    ]


def _level_document(axis: Axis, level: QuotaLevel) -> dict[str, object]:
    amounts = {
        name: None if number is None else format_amount(axis.resource, number)
        for name, number in _numbers(level).items()
    }
    return {"queue": level.queue, **amounts}


def _numbers(level: QuotaLevel) -> dict[str, int | None]:
    return {
        "quota": level.quota,
        "allocated": level.allocated,
        "borrowLimit": level.borrow_limit,
        "available": level.available,
        "potential": level.potential,
    }


def _path(view: KueueJobView, axis: Axis) -> QuotaPath:
    assert view.seeks is not None, "a path is for who sought quota"
    tree, queue = view.snapshot.tree, view.workload.queue
    number = view.state.axes.axes.index(axis)
    is_for_good = view.seeks.reason.code == EXCEEDS_MAX_QUOTA
    end = tree.potential_ends_at if is_for_good else tree.ends_at
    return QuotaPath(
        axis=axis,
        ends_at=QueueName(end(queue, number)),
        levels=tuple(
            QuotaLevel(
                queue=name,
                quota=tree.subtree_on(name, number),
                allocated=tree.charged_on(name, number),
                borrow_limit=tree.borrow_limit_on(name, number),
                available=tree.available_on(name, number),
                potential=tree.potential_on(name, number),
            )
            for name in view.snapshot.path(queue)
        ),
        held=tuple(each for each in view.seeks.reason.held if each.axis == axis),
    )
