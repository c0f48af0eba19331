"""Cells, documents and differences of the share report, whatever the rule set."""

from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest

from fairlead.explain.queues.diff import share_changes
from fairlead.explain.queues.report import (
    AxisLine,
    Cell,
    Column,
    Form,
    QueueEntry,
    ShareReport,
    cell_text,
    cell_value,
)
from fairlead.explain.text.amounts import amount_text, number_text, portion_text
from fairlead.model.axes import Axis, QueueName

GPU = Axis("gpu")
MEMORY = Axis("memory")

AMOUNTS = [
    (GPU, 2500, "2.5"),
    (GPU, None, "-"),
    (Axis("cpu"), 1500, "1.5"),
    (MEMORY, 16 * 2**30, "16Gi"),
    (MEMORY, 10**9, "1G"),
    (MEMORY, 22906492245, "~21.33Gi"),
    (MEMORY, 1000001, "1000001"),
    (Axis("ephemeral-storage"), 22906492245, "~21.33Gi"),
    (Axis("hugepages-2Mi"), 22906492245, "~21.33Gi"),
    (Axis("example.com/tokens"), 99_000_000_001, "99000000001"),  # not bytes: no Gi of tokens
    (Axis("nvidia.com/gpu", "spot"), 3000, "3"),
]


@pytest.mark.parametrize(("axis", "amount", "text"), AMOUNTS)
def test_amounts_are_short_and_say_when_they_are_rounded(
    axis: Axis, amount: int | None, text: str
) -> None:
    assert amount_text(axis, amount) == text


def test_portions_are_shown_in_the_unit_that_people_write() -> None:
    assert portion_text(GPU, Fraction(8000, 3)) == "2.667"
    assert portion_text(GPU, Fraction(2000)) == "2"
    assert portion_text(MEMORY, Fraction(10, 3)) == "3+"
    assert portion_text(Axis("example.com/tokens"), Fraction(10, 3)) == "3.333"
    assert number_text(None) == "inf"


CELLS: list[tuple[Form, Cell, str, object]] = [
    ("amount", 1500, "1.5", "1500m"),
    ("amount", None, "-", None),
    ("ratio", Fraction(1, 3), "0.333", 0.333333333),
    ("ratio", None, "inf", "inf"),
    ("usage", 250_000_000, "0.25", 0.25),
    (
        "amounts",
        {"cpu": 500, "memory": 1024},
        "cpu 0.5, memory 1Ki",
        {"cpu": "500m", "memory": "1Ki"},
    ),
    ("share", 188, "188", 188),
    ("share", 2**63 - 1, "inf", 2**63 - 1),
    ("number", Decimal("0.5"), "0.5", "0.5"),
    ("word", True, "yes", True),
    ("word", False, "-", False),
    ("word", None, "-", None),
]


@pytest.mark.parametrize(("form", "value", "text", "document"), CELLS)
def test_a_cell_for_people_and_for_programs(
    form: Form, value: Cell, text: str, document: object
) -> None:
    column = Column(key="x", title="X", form=form)
    assert cell_text(column, GPU, value) == text
    assert cell_value(column, GPU, value) == document


def report(**fair_shares: int) -> ShareReport:
    column = Column(key="fairShare", title="FAIR-SHARE", form="amount")
    entries = [
        QueueEntry(
            name=QueueName(name),
            parent=None,
            depth=0,
            kind="Queue",
            cells={},
            lines=(AxisLine(axis=GPU, cells={"fairShare": share}),),
        )
        for name, share in fair_shares.items()
    ]
    return ShareReport(
        policy="kai", capacity={}, queue_columns=(), axis_columns=(column,), queues=tuple(entries)
    )


def test_only_what_differs_is_a_change() -> None:
    changes = share_changes(report(a=1, b=2, gone=3), report(a=1, b=5, new=3))
    assert [(c.queue, c.fate, c.old, c.new) for c in changes] == [
        ("b", "changed", 2, 5),
        ("new", "added", None, 3),
        ("gone", "removed", 3, None),
    ]


def test_a_number_that_only_the_old_side_shows_is_a_change_too() -> None:
    usage = Column(key="usage", title="USAGE", form="usage")

    def with_usage(shown: tuple[Column, ...], usage_e9: int) -> ShareReport:
        plain = report(a=1)
        (entry,) = plain.queues
        line = AxisLine(axis=GPU, cells={"fairShare": 1, "usage": usage_e9})
        return msgspec.structs.replace(
            plain,
            axis_columns=(*plain.axis_columns, *shown),
            queues=(msgspec.structs.replace(entry, lines=(line,)),),
        )

    dropped = share_changes(with_usage((usage,), 250_000_000), with_usage((), 0))
    assert [(c.column.key, c.old, c.new) for c in dropped] == [("usage", 250_000_000, 0)]
    gained = share_changes(with_usage((), 0), with_usage((usage,), 250_000_000))
    assert [(c.column.key, c.old, c.new) for c in gained] == [("usage", 0, 250_000_000)]
