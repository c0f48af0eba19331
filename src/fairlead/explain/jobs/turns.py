"""The turns that other jobs had before a job, and which rule put them first."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.explain.text.explanation import Section
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.duration import moment_text

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
        return Section(title=f"{title}: no other job came first")
    shown = before[-SHOWN_TURNS:]
    rows = [(str(each.turn), each.workload, each.queue, each.why) for each in shown]
    left_out = len(before) - len(shown)
    table = (("TURN", "JOB", "QUEUE", "CAME FIRST BECAUSE"), *rows)
    remarks = (f"{left_out} earlier turns are left out.",) if left_out else ()
    return Section(title=title, table=table, words=len(table[0]), remarks=remarks)


Rank: TypeAlias = tuple[int, int]  # priority, and since when it waits, in milliseconds


def why_older_or_higher(first: Rank, other: Rank) -> str:
    """Return which rule puts *first* before *other*."""
    (priority, since_ms), (other_priority, other_since_ms) = first, other
    if priority != other_priority:
        return f"higher priority: {priority} against {other_priority}"
    if since_ms != other_since_ms:
        return f"waits longer: since {moment_text(since_ms)}, not {moment_text(other_since_ms)}"
    return "first by name"
