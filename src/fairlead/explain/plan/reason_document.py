"""The two sides of a conflict between queues and who holds what, for programs and for people."""

import math
from collections.abc import Sequence
from fractions import Fraction

from fairlead.explain.text.amounts import AxisNumbers, by_interest, number_text
from fairlead.explain.text.explanation import Section
from fairlead.model.plan import Held, SideNumbers, SideShare


def side_document(side: SideNumbers) -> dict[str, object]:
    """Return what a side held, resource by resource; a saturation of None is infinite."""
    return {"queue": side.queue, "resources": [_resource(side, at) for at in range(len(side.axes))]}


def share_document(share: SideShare) -> dict[str, object]:
    """Return the weighted shares of a side; one that is infinite is the text ``inf``."""
    return {
        "queue": share.queue,
        "before": number_or_inf(share.before),
        "after": number_or_inf(share.after),
    }


def held_document(held: Held) -> dict[str, object]:
    """Return what a queue holds of something scarce."""
    numbers = AxisNumbers(held.axis, {"amount": held.amount, "borrowed": held.borrowed})
    return {"queue": held.queue, **numbers.document()}


def number_or_inf(value: float) -> float | str:
    """Return *value*, for which JSON has no number if it is infinite."""
    return "inf" if math.isinf(value) else value


def side_section(title: str, sides: Sequence[SideNumbers]) -> Section:
    """Return both sides as a table, the scarcest resource first, without what neither holds."""
    head = ("QUEUE", "RESOURCE", "QUOTA", "FAIR SHARE", "ALLOCATABLE")
    counted = ("ALLOCATED", "ALLOCATED AFTER", "SATURATION", "SATURATION AFTER")
    rows = [
        _row(side, at)
        for at in map(sides[0].axes.index, by_interest(sides[0].axes))
        if any(side.allocated_before[at] or side.allocated_after[at] for side in sides)
        for side in sides
    ]
    return Section(title=title, table=((*head, *counted), *rows), words=2)


def _resource(side: SideNumbers, at: int) -> dict[str, object]:
    return {
        **_numbers(side, at).document(),
        "saturationBefore": _ratio(side.saturation_before[at]),
        "saturationAfter": _ratio(side.saturation_after[at]),
    }


def _row(side: SideNumbers, at: int) -> tuple[str, ...]:
    full = (side.saturation_before[at], side.saturation_after[at])
    return (
        side.queue,
        str(side.axes[at]),
        *_numbers(side, at).texts(),
        *map(number_text, full),
    )


def _numbers(side: SideNumbers, at: int) -> AxisNumbers:
    return AxisNumbers(
        side.axes[at],
        {
            "quota": side.guaranteed[at],
            "fairShare": side.fair_share[at],
            "allocatable": side.allocatable[at],
            "allocatedBefore": side.allocated_before[at],
            "allocatedAfter": side.allocated_after[at],
        },
    )


def _ratio(saturation: Fraction | None) -> float | None:
    return None if saturation is None else float(saturation)
