"""The turns that others had before a job, and by which rule."""

from collections.abc import Sequence
from typing import Final

import msgspec

from fairlead.explain.explanation import Section
from fairlead.model.axes import QueueName, WorkloadName

SHOWN_TURNS: Final = 10
"""How many of the turns before a job are listed, the nearest ones."""


class TurnBefore(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that another job had earlier, and why."""

    turn: int
    workload: WorkloadName
    queue: QueueName
    why: str


def turns_section(title: str, before: Sequence[TurnBefore]) -> Section:
    """Return the nearest of the turns *before* a job's own, of which *title* tells."""
    if not before:
        return Section(title=f"{title}: nobody else was before it")
    shown = before[-SHOWN_TURNS:]
    rows = [(str(each.turn), each.workload, each.queue, each.why) for each in shown]
    left_out = len(before) - len(shown)
    table = (("TURN", "JOB", "QUEUE", "WAS BEFORE IT BECAUSE"), *rows)
    remarks = (f"{left_out} earlier turns are left out.",) if left_out else ()
    return Section(title=title, table=table, words=len(table[0]), remarks=remarks)
