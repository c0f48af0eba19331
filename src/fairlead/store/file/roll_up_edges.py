"""In which pieces a journal is rolled up: whole days that do not begin or end within a gap.

One piece at a time is in memory and in a transaction, so that a year does not fill either.
"""

from collections.abc import Iterator, Sequence

import msgspec

from fairlead.usage.entries import Gap
from fairlead.usage.settings import DAY_MS

PIECE_DAYS = 7


class RolledUp(msgspec.Struct, frozen=True, kw_only=True):
    """What a roll-up came to, in entries of the time that it was about."""

    until_ms: int
    entries_before: int
    entries_after: int


def pieces(begin_ms: int, until_ms: int, gaps: Sequence[Gap]) -> Iterator[tuple[int, int]]:
    """Begin and end of each piece of the whole days between two moments, in order.

    The first begins at the last free edge not after *begin_ms*, which may be some days earlier.
    """
    begin_ms = _free_edge(begin_ms, -DAY_MS, gaps)
    until_ms = _free_edge(until_ms, -DAY_MS, gaps)
    while begin_ms < until_ms:
        end_ms = min(until_ms, _free_edge(begin_ms + PIECE_DAYS * DAY_MS, DAY_MS, gaps))
        yield begin_ms, end_ms
        begin_ms = end_ms


def _free_edge(at_ms: int, step_ms: int, gaps: Sequence[Gap]) -> int:
    """The edge of a day before *at_ms*, moved by steps until no gap is there."""
    edge_ms = at_ms // DAY_MS * DAY_MS
    while any(gap.since_ms < edge_ms <= gap.at_ms for gap in gaps):
        edge_ms += step_ms
    return edge_ms
